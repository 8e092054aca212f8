import { type Application, type Applications, quoted } from '../../applications/applications.js'
import type { UsedApplications } from '../../applications/used-applications.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import { operatorClient, type RequestOrigin } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { days, seconds } from '../../lib/durations.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import {
  createOutbound,
  type Outbound,
  OutboundFailed,
  type OutboundFailure,
} from '../../platform/outbound/outbound.js'
import { isPublicAddress, isPublicOrPrivateAddress } from '../../platform/outbound/public-addresses.js'
import type { Config } from '../../settings/config.js'
import * as store from './client-documents.store.js'
import { type ClientDocument, freshFor, isAllowedDocument, isJsonType, readDocument } from './document.js'

/** Counts a fetch before it begins. Gives the refusal if there were too many. */
export type ReserveFetch = () => Promise<Refused<'too_many_requests'> | undefined>

const usableWhileAway = 1 * days
const unusedFor = 1 * days

/** Opens the client that fetches documents. It follows no redirect and sends no cookie. */
const openDocumentFetch = ({ clientDocumentsAllowPrivate }: Config) =>
  createOutbound({
    connectTimeout: 5 * seconds,
    totalTimeout: 5 * seconds,
    maximumBytes: 10 * 1024,
    mayReach: clientDocumentsAllowPrivate === 'true' ? isPublicOrPrivateAddress : isPublicAddress,
  })

/** The other end was not there. Any other failure is an answer that cannot be used. */
const isAway: Readonly<Record<OutboundFailure, boolean>> = {
  busy: true,
  connect_timeout: true,
  timeout: true,
  tls: true,
  unreachable: true,
  encoded: false,
  forbidden: false,
  private_address: false,
  too_large: false,
}

type Unread = { fault: string; isAway: boolean }
type ReadDocument = ClientDocument & { freshFor: number }

const fetchDocument = async (outbound: Outbound, id: string): Promise<ReadDocument | Unread> => {
  try {
    const answer = await outbound.withDeadline()(id, { headers: { accept: 'application/json' } })
    if (answer.status !== 200) return { fault: `it was answered with ${answer.status}`, isAway: answer.status >= 500 }
    if (!isJsonType(answer.headers.get('content-type'))) return { fault: 'its type is not JSON', isAway: false }
    const document = readDocument(id, await answer.text())
    return 'fault' in document
      ? { ...document, isAway: false }
      : { ...document, freshFor: freshFor(answer.headers) * seconds }
  } catch (error) {
    if (!(error instanceof OutboundFailed)) throw error
    return { fault: `it could not be fetched: ${error.code}`, isAway: isAway[error.code] }
  }
}

type Services = {
  database: Database
  clock: Clock
  applications: Applications
  usedApplications: UsedApplications
  log: { info(details: object, message: string): void }
}

export type ClientDocuments = ReturnType<typeof createClientDocuments>

type Unusable = { fault: string; refusal: Refused<'program_document_refused' | 'too_many_requests'> }

type Found = Application | Unusable['refusal'] | Refused<'program_not_allowed'>

/**
 * Programs that nobody registered, which say who they are with a document at the address that is their `client_id` (draft
 * OAuth Client ID Metadata Document). Copies are kept in the database, so that instances agree. A failure is never kept.
 */
export const createClientDocuments = (
  config: Config,
  { database, clock, applications, usedApplications, log }: Services,
) => {
  const outbound = openDocumentFetch(config)
  const lookingUp = new Map<string, Promise<Application | Unusable>>()
  const isAllowed = (id: string) => isAllowedDocument(id, config.clientDocuments)

  const keep = async (
    document: string,
    { name, redirectAddresses, freshFor }: ClientDocument & { freshFor: number },
  ) => {
    const now = clock.now()
    await store.upsertCopy(database, {
      id: uuidv7(now),
      document,
      name,
      home: new URL(document).origin,
      redirectAddresses,
      now,
      freshFor,
      usableFor: freshFor + usableWhileAway,
      clockOffset: clock.offset(),
    })
    const kept = await applications.find(document)
    if (!kept) throw new Error('The copy of a document was not kept')
    return kept
  }

  const lookUp = async (id: string, reserve: ReserveFetch): Promise<Application | Unusable> => {
    const [[copy], known] = await Promise.all([store.selectCopy(database, id, clock.offset()), applications.find(id)])
    if (copy?.is_fresh && known) return known
    const refusal = await reserve()
    const read = refusal
      ? { fault: 'too many documents were fetched', isAway: true }
      : await fetchDocument(outbound, id)
    if (!('fault' in read)) return keep(id, read)
    if (read.isAway && copy?.is_usable && known) return known
    return { fault: read.fault, refusal: refusal ?? refuse('program_document_refused') }
  }

  /** One fetch at a time for an address, and only that one is counted. */
  const lookUpOnce = (id: string, reserve: ReserveFetch) => {
    const found = lookingUp.get(id) ?? lookUp(id, reserve).finally(() => lookingUp.delete(id))
    lookingUp.set(id, found)
    return found
  }

  return {
    isAllowed,

    /** The program of a document. Asks for the document if the copy is not fresh. */
    find: async (id: string, reserve: ReserveFetch, { requestId }: RequestOrigin): Promise<Found> => {
      const refuseWith = (reason: string) => {
        log.info({ requestId, client: quoted(id), reason }, 'the document of a program was refused')
      }
      if (!isAllowed(id)) {
        refuseWith('its address is not well-formed, or CLIENT_DOCUMENTS does not name its host')
        return refuse('program_not_allowed')
      }
      const found = await lookUpOnce(id, reserve)
      if (!('fault' in found)) return found
      refuseWith(found.fault)
      return found.refusal
    },

    /** Ends the sessions of programs whose host was taken off the list. A job has a transaction of its own. */
    endForbidden: async (sql: Transaction) => {
      const forbidden = (await store.selectUsed(sql)).filter(({ document }) => !isAllowed(document))
      for (const { id } of forbidden) await usedApplications.endOfApplication(sql, id, operatorClient('configuration'))
      return forbidden.length
    },

    purge: async (sql: Sql, limit: number) => (await store.deleteUnused(sql, unusedFor, limit, clock.offset())).length,
  }
}
