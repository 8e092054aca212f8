import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Groups } from '../groups/groups.js'
import type { RequestOrigin } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { uuidv7 } from '../lib/uuid.js'
import type { Events } from '../messages/events.js'
import {
  commitUnlessRefused,
  type Database,
  isUniqueViolation,
  type Transaction,
} from '../platform/database/database.js'
import { changedColumns } from './application-row.js'
import {
  type ApplicationChange,
  type ApplicationRefusal,
  addressFaults,
  applicationFault,
  defaultHome,
  longestApplicationName,
  type NewApplication,
  type Place,
  proxyFaults,
} from './application-rules.js'
import type { Application, ApplicationSecrets } from './applications.js'
import * as store from './applications.store.js'
import type { UsedApplications } from './used-applications.js'

/** What changes of applications need. A command and a seed file give the same. */
type Needed = {
  database: Database
  clock: Clock
  events: Events
  groups: Groups
  applicationSecrets: ApplicationSecrets
  usedApplications: UsedApplications
} & Place

/** A home that is still the default follows the other addresses. */
const applyChange = (before: Application, change: ApplicationChange): Application => {
  const after = { ...before, ...change }
  const homeOf = ({ redirectAddresses, proxyOrigin }: Application) => defaultHome(redirectAddresses, proxyOrigin)
  return change.home === undefined && before.home === homeOf(before) ? { ...after, home: homeOf(after) } : after
}

/** Checks an application and its groups. The groups are held, so that none is deleted before the transaction ends. */
const faultOf = async (sql: Transaction, application: Application, { groups, ...place }: Needed) => {
  const fault = applicationFault(application, place)
  if (fault) return fault
  const existing = await groups.hold(sql, application.groups)
  const unknown = application.groups.find((name) => !existing.includes(name))
  return unknown === undefined ? undefined : refuse('no_group', { group: unknown })
}

/** Which of the two that only one application may have is taken. */
const takenBy = async (sql: Transaction, { proxyOrigin }: Application) => {
  const others = proxyOrigin === undefined ? [] : await store.selectByOrigin(sql, proxyOrigin)
  return others.length > 0 ? refuse('origin_taken', { origin: proxyOrigin }) : refuse('name_taken')
}

/** `fixed`: an id and a secret that a seed file chooses. */
const addApplication = (
  needed: Needed,
  newApplication: NewApplication,
  origin: RequestOrigin,
  fixed: { id?: string | undefined; secret?: string | undefined },
) =>
  commitUnlessRefused(needed.database, async (sql) => {
    const now = needed.clock.now()
    const application: Application = {
      ...newApplication,
      document: undefined,
      id: fixed.id ?? uuidv7(now),
      createdAt: now,
    }
    const fault = await faultOf(sql, application, needed)
    if (fault) return fault
    if ((await store.insert(sql, application)).length === 0) return takenBy(sql, application)
    const { kind, id, redirectAddresses } = application
    const hasSecret = kind === 'web' && redirectAddresses.length > 0
    const newSecret = hasSecret ? await needed.applicationSecrets.add(sql, id, fixed.secret) : undefined
    if (isRefused(newSecret)) return newSecret
    await needed.events.recordInside(sql, { kind: 'application_added', reason: newApplication.name }, origin)
    return { application, secret: newSecret?.secret }
  })

/** Runs `work` while the application's row is held. `summary` is for the event. It is empty if nothing has changed. */
const changeHeld = <Outcome extends { summary: string } | Refused>(
  { database, events }: Needed,
  id: string,
  origin: RequestOrigin,
  work: (sql: Transaction, application: Application) => Promise<Outcome>,
) =>
  commitUnlessRefused(database, async (sql) => {
    await events.checkActor(sql, origin)
    const [application] = await store.lockById(sql, id)
    if (!application) return refuse('no_application')
    const outcome = await work(sql, application)
    if ('summary' in outcome && outcome.summary !== '') {
      const reason = `${application.name}: ${outcome.summary}`
      await events.recordInside(sql, { kind: 'application_changed', reason }, origin)
    }
    return outcome
  })

export type ApplicationChanges = ReturnType<typeof createApplicationChanges>

/** Changes of applications by operators. Each is one transaction, with its event. */
export const createApplicationChanges = (needed: Needed) => {
  const { database, events, applicationSecrets, usedApplications } = needed

  return {
    add: (newApplication: NewApplication, origin: RequestOrigin, fixed: Parameters<typeof addApplication>[3] = {}) =>
      addApplication(needed, newApplication, origin, fixed),

    /** Users who may not use the application any more lose access at once, and the application is told. */
    change: async (id: string, change: ApplicationChange, origin: RequestOrigin) => {
      try {
        return await changeHeld(needed, id, origin, async (sql, before) => {
          if (before.kind === 'document') return refuse('is_document')
          const application = applyChange(before, change)
          const fault = await faultOf(sql, application, needed)
          if (fault) return fault
          const summary = changedColumns(before, application).join(', ')
          if (summary === '') return { application, summary }
          const { proxyOrigin } = application
          const sameOrigin = proxyOrigin === undefined ? [] : await store.selectByOrigin(sql, proxyOrigin)
          if (sameOrigin.some((other) => other.id !== id)) return refuse('origin_taken', { origin: proxyOrigin })
          await store.update(sql, application)
          await usedApplications.endWithoutRight(sql, { applicationId: id }, origin)
          return { application, summary }
        })
      } catch (error) {
        if (isUniqueViolation(error, 'applications_name')) return refuse('name_taken')
        throw error
      }
    },

    /** Null removes the icon. */
    setIcon: (id: string, png: Buffer | null, origin: RequestOrigin) =>
      changeHeld(needed, id, origin, async (sql) => {
        if (png) await store.upsertIcon(sql, id, png)
        else await store.deleteIcon(sql, id)
        return { summary: png ? 'icon' : 'icon removed' }
      }),

    addSecret: (id: string, origin: RequestOrigin) =>
      changeHeld(needed, id, origin, async (sql, { kind }) => {
        if (kind !== 'web') return refuse('has_no_secret')
        const newSecret = await applicationSecrets.add(sql, id)
        return isRefused(newSecret) ? newSecret : { ...newSecret, summary: 'secret added' }
      }),

    /** Removes the older secret if `secretId` is undefined. */
    removeSecret: (id: string, secretId: string | undefined, origin: RequestOrigin) =>
      changeHeld(needed, id, origin, async (sql) => {
        const removed = await applicationSecrets.remove(sql, id, secretId)
        return isRefused(removed) ? removed : { ...removed, summary: 'secret removed' }
      }),

    /**
     * The sessions, codes and tokens of the application are deleted with it, and it gets no more logout notices. `evenIfUsed`: it is
     * deleted even if users lose access.
     */
    delete: (id: string, origin: RequestOrigin, evenIfUsed = false) =>
      database.transaction(async (sql) => {
        const [application] = await store.lockById(sql, id)
        if (!application) return refuse('no_application')
        const userCount = await usedApplications.countUsers(sql, id)
        if (userCount > 0 && !evenIfUsed) return refuse('application_in_use', { users: userCount })
        await store.remove(sql, id)
        await events.recordInside(sql, { kind: 'application_deleted', reason: application.name }, origin)
        return undefined
      }),
  }
}

/** Sentences for operators whose command or file describes an application that is refused. */
const sentences: {
  [Code in ApplicationRefusal['refused']]: (refusal: Extract<ApplicationRefusal, { refused: Code }>) => string
} = {
  bad_name: () =>
    `A name has 1 to ${longestApplicationName} characters in one line, without spaces at its ends or characters that cannot be seen.`,
  no_redirect_address: () =>
    'An application needs at least one redirect address, or the address of a site that a proxy protects.',
  proxy_needs_web: () => 'Only an application of the kind web can be behind a proxy.',
  proxy_missing: () => 'Open paths are for an application behind a proxy: name its address with --proxy.',
  bad_proxy_address: ({ address, fault }) => `${address} ${proxyFaults[fault]}.`,
  bad_open_path: ({ path }) =>
    `${path} cannot be open: give a path such as /manifest.json or /public/, without %, ;, ?, // and dots as parts, and with a method before it (POST:/hooks/) unless it is GET.`,
  bad_address: ({ address, fault }) => `${address} ${addressFaults[fault]}.`,
  pkce_needed: () => 'An application without a secret always needs PKCE.',
  consent_needed: () =>
    'A native application always asks its user for consent, because any program on the same machine can pose as it.',
  device_flow_needs_native: () => 'Only an application of the kind native can have the device flow.',
}

export const applicationRefusalSentence = (refusal: ApplicationRefusal) =>
  (sentences[refusal.refused] as (refusal: ApplicationRefusal) => string)(refusal)
