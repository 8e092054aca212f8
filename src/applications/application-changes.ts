import type { EventDetails } from '../contract/configuration.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Groups } from '../groups/groups.js'
import type { RequestOrigin } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { fingerprint } from '../lib/random.js'
import { uuidv7 } from '../lib/uuid.js'
import type { ConfigurationEventKind, ConfigurationTrail } from '../messages/configuration-trail.js'
import type { Events } from '../messages/events.js'
import {
  commitUnlessRefused,
  type Database,
  isUniqueViolation,
  type Sql,
  type Transaction,
} from '../platform/database/database.js'
import { changedColumns, rowFrom } from './application-row.js'
import {
  type Application,
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
import { differences, shapeOf } from './application-shape.js'
import type { ApplicationSecrets } from './applications.js'
import * as store from './applications.store.js'
import type { UsedApplications } from './used-applications.js'

/** What changes of applications need. A command, a configuration file and a seed file give the same. */
type Needed = {
  database: Database
  clock: Clock
  events: Events
  configurationTrail: ConfigurationTrail
  groups: Groups
  applicationSecrets: ApplicationSecrets
  usedApplications: UsedApplications
} & Place

/** Who changes an application, and what it must be like before: a form that was left open must not put a removed address back. */
export type ChangeOptions = { expectedVersion?: string | undefined; endsAccess?: boolean }

/** A home that is still the default follows the other addresses. */
const applyChange = (before: Application, { home, ...change }: ApplicationChange): Application => {
  const after = { ...before, ...change }
  const homeOf = ({ redirectAddresses, proxyOrigin }: Application) => defaultHome(redirectAddresses, proxyOrigin)
  const isDefault = home === null || (home === undefined && before.home === homeOf(before))
  return { ...after, home: isDefault ? homeOf(after) : (home ?? before.home) }
}

/** Checks an application and its groups. The groups are held, so that none is deleted before the transaction ends. */
const faultOf = async (sql: Transaction, application: Application, { groups, ...place }: Needed) => {
  const fault = applicationFault(application, place)
  if (fault) return fault
  const existing = await groups.hold(sql, application.groups)
  const unknown = application.groups.find((name) => !existing.includes(name))
  return unknown === undefined ? undefined : refuse('no_group', { group: unknown })
}

/** Which of those that only one application may have is taken. */
const takenBy = async (sql: Transaction, { id, name, proxyOrigin }: Application) => {
  if ((await store.selectByName(sql, name)).length > 0) return refuse('name_taken')
  const others = proxyOrigin === undefined ? [] : await store.selectByOrigin(sql, proxyOrigin)
  if (others.length > 0) return refuse('origin_taken', { origin: proxyOrigin })
  return refuse('id_taken', { id })
}

const hasSecrets = ({ kind, redirectAddresses }: NewApplication) => kind === 'web' && redirectAddresses.length > 0

/** A text that is another one after each change of the application, of its secrets and its icon. */
const versionOf = async (sql: Sql, application: Application) => {
  const secrets = await store.selectSecrets(sql, application.id)
  const icon = await store.selectIconVersion(sql, application.id)
  const parts = [rowFrom(application), secrets.map(({ id }) => id), icon]
  return fingerprint(JSON.stringify(parts)).toString('base64url').slice(0, 22)
}

const record = (
  { configurationTrail }: Needed,
  sql: Transaction,
  kind: ConfigurationEventKind,
  { id, name }: Application,
  { summary, ...values }: { summary?: string } & Pick<EventDetails, 'before' | 'after' | 'secret'>,
  origin: RequestOrigin,
) => {
  const reason = summary === undefined ? name : `${name}: ${summary}`
  return configurationTrail.record(sql, { kind, reason, details: { kind: 'application', name, id, ...values } }, origin)
}

/** The file that owns the application from now on, and whether its secrets too. */
type FileOwner = { setByFile?: string | undefined; secretsByFile?: boolean }

/** `id`: one that was chosen beforehand. `secrets`: those that a file has, or none; otherwise one is made. */
export type Fixed = {
  id?: string | undefined
  secrets?: readonly string[] | undefined
} & FileOwner

const addInside = async (
  needed: Needed,
  sql: Transaction,
  newApplication: NewApplication,
  origin: RequestOrigin,
  fixed: Fixed,
) => {
  const now = needed.clock.now()
  const { setByFile, secretsByFile = false } = fixed
  const application: Application = {
    ...newApplication,
    document: undefined,
    id: fixed.id ?? uuidv7(now),
    createdAt: now,
    setByFile,
    secretsByFile,
  }
  const fault = await faultOf(sql, application, needed)
  if (fault) return fault
  if ((await store.insert(sql, application)).length === 0) return takenBy(sql, application)
  const added: string[] = []
  for (const secret of hasSecrets(application) ? (fixed.secrets ?? [undefined]) : []) {
    const newSecret = await needed.applicationSecrets.add(sql, application.id, secret)
    if (isRefused(newSecret)) return newSecret
    added.push(newSecret.secret)
  }
  await record(needed, sql, 'application_added', application, { after: shapeOf(application) }, origin)
  return { application, secret: added[0] }
}

/** Null removes the icon. */
const writeIcon = (sql: Transaction, id: string, png: Buffer | null) =>
  png ? store.upsertIcon(sql, id, png) : store.deleteIcon(sql, id)

/** Changes an application whose row is held. Users who may not use it any more lose access at once, and it is told. */
const changeInside = async (
  needed: Needed,
  sql: Transaction,
  before: Application,
  change: ApplicationChange & FileOwner,
  origin: RequestOrigin,
) => {
  const application = applyChange(before, change)
  const fault = await faultOf(sql, application, needed)
  if (fault) return fault
  const columns = changedColumns(before, application)
  const summary = columns.filter((column) => column !== 'set_by_file' && column !== 'secrets_by_file').join(', ')
  if (columns.length === 0) return { application, summary }
  const { id, proxyOrigin } = application
  const sameOrigin = proxyOrigin === undefined ? [] : await store.selectByOrigin(sql, proxyOrigin)
  if (sameOrigin.some((other) => other.id !== id)) return refuse('origin_taken', { origin: proxyOrigin })
  const sameName = await store.selectByName(sql, application.name)
  if (sameName.some((other) => other.id !== id)) return refuse('name_taken')
  await store.update(sql, application)
  if (summary === '') return { application, summary }
  await needed.usedApplications.endWithoutRight(sql, { applicationId: id }, origin)
  const values = { summary, ...differences(before, application) }
  // By its former name: under that others know it.
  await record(needed, sql, 'application_changed', before, values, origin)
  return { application, summary }
}

/** Deletes an application whose row is held, with its sessions, codes and tokens. */
const deleteInside = async (needed: Needed, sql: Transaction, application: Application, origin: RequestOrigin) => {
  await store.remove(sql, application.id)
  // A program of a document comes back by itself when a user is asked again.
  const values = application.kind === 'document' ? {} : { before: shapeOf(application) }
  await record(needed, sql, 'application_deleted', application, values, origin)
}

/**
 * Runs `work` while the application's row is held. Refused if a file owns the application, and if it is not as it was when the caller read
 * it.
 */
const whileHeld = <Outcome>(
  { database, events, usedApplications }: Needed,
  id: string,
  origin: RequestOrigin,
  { expectedVersion, endsAccess = false }: ChangeOptions,
  work: (sql: Transaction, application: Application) => Promise<Outcome>,
) =>
  commitUnlessRefused(database, async (sql) => {
    await events.checkActor(sql, origin)
    const [application] = await store.lockById(sql, id)
    if (!application) return refuse('no_application')
    if (expectedVersion !== undefined && (await versionOf(sql, application)) !== expectedVersion)
      return refuse('changed_meanwhile')
    if (endsAccess) await usedApplications.endOfApplication(sql, application.id, origin)
    return work(sql, application)
  })

type WhileHeld<Outcome> = (sql: Transaction, application: Application) => Promise<Outcome>

/** Refuses what the schema of files holds, for an application that a file owns. */
const unlessOwned =
  <Outcome>(work: WhileHeld<Outcome>) =>
  async (sql: Transaction, application: Application) => {
    const { setByFile: file } = application
    return file === undefined ? work(sql, application) : refuse('set_by_file', { file })
  }

/** Refuses a change of the secrets that a file names: they would be others again when the file is applied the next time. */
const unlessSecretsOwned =
  <Outcome>(work: WhileHeld<Outcome>) =>
  async (sql: Transaction, application: Application) =>
    application.secretsByFile ? unlessOwned(work)(sql, application) : work(sql, application)

const openSecretChanges = (needed: Needed) => {
  const { applicationSecrets } = needed

  const addHeld = async (sql: Transaction, application: Application, origin: RequestOrigin) => {
    if (application.kind !== 'web') return refuse('has_no_secret')
    const newSecret = await applicationSecrets.add(sql, application.id)
    if (isRefused(newSecret)) return newSecret
    const values = { summary: 'secret added', secret: newSecret.id }
    await record(needed, sql, 'application_changed', application, values, origin)
    return newSecret
  }

  const removeHeld = async (
    sql: Transaction,
    application: Application,
    secretId: string | undefined,
    origin: RequestOrigin,
  ) => {
    const removed = await applicationSecrets.remove(sql, application.id, secretId)
    if (isRefused(removed)) return removed
    await record(needed, sql, 'application_changed', application, { summary: 'secret removed' }, origin)
    return removed
  }

  return {
    addSecret: (id: string, origin: RequestOrigin, options: ChangeOptions = {}) =>
      whileHeld(
        needed,
        id,
        origin,
        options,
        unlessSecretsOwned((sql, application) => addHeld(sql, application, origin)),
      ),

    /** Removes the older secret if `secretId` is undefined. */
    removeSecret: (id: string, secretId: string | undefined, origin: RequestOrigin, options: ChangeOptions = {}) =>
      whileHeld(
        needed,
        id,
        origin,
        options,
        unlessSecretsOwned((sql, application) => removeHeld(sql, application, secretId, origin)),
      ),
  }
}

/** For configuration files, which change many things in one transaction. */
const openForFiles = (needed: Needed) => ({
  add: (sql: Transaction, newApplication: NewApplication, origin: RequestOrigin, fixed: Fixed) =>
    addInside(needed, sql, newApplication, origin, fixed),
  change: (sql: Transaction, before: Application, change: Parameters<typeof changeInside>[3], origin: RequestOrigin) =>
    changeInside(needed, sql, before, change, origin),
  delete: (sql: Transaction, application: Application, origin: RequestOrigin) =>
    deleteInside(needed, sql, application, origin),
  /** Every application, held until the transaction ends, with the hashes of its secrets and its icon. */
  lockAll: async (sql: Transaction) => {
    const hashes = await store.selectHashes(sql)
    const icons = await store.selectIcons(sql)
    return (await store.lockAll(sql)).map((application) => ({
      application,
      hashes: hashes.filter(({ id }) => id === application.id).map(({ hash }) => hash),
      icon: icons.find(({ id }) => id === application.id)?.version,
    }))
  },
  /** Each of them is changed afterwards, and may get the site of another one. */
  leaveSites: async (sql: Transaction, ids: readonly string[]) => {
    if (ids.length > 0) await store.clearOrigins(sql, ids)
  },
  /** Makes these the secrets of the application, and no others. */
  setSecrets: async (sql: Transaction, application: Application, secrets: readonly string[], origin: RequestOrigin) => {
    await needed.applicationSecrets.replace(sql, application.id, secrets)
    await record(needed, sql, 'application_changed', application, { summary: 'secrets' }, origin)
  },
  setIcon: async (sql: Transaction, application: Application, png: Buffer | null, origin: RequestOrigin) => {
    await writeIcon(sql, application.id, png)
    const values = { summary: png ? 'icon' : 'icon removed' }
    await record(needed, sql, 'application_changed', application, values, origin)
  },
})

export type ApplicationChanges = ReturnType<typeof createApplicationChanges>

/** Changes of applications by operators. Each is one transaction, with its event. */
export const createApplicationChanges = (needed: Needed) => {
  const { database, events, usedApplications } = needed

  return {
    /** Another text after each change. */
    versionOf: (application: Application) => versionOf(database, application),

    add: (newApplication: NewApplication, origin: RequestOrigin, fixed: Fixed = {}, icon?: Buffer | null) =>
      commitUnlessRefused(database, async (sql) => {
        await events.checkActor(sql, origin)
        const added = await addInside(needed, sql, newApplication, origin, fixed)
        if (!isRefused(added) && icon) await writeIcon(sql, added.application.id, icon)
        return added
      }),

    change: async (
      id: string,
      change: ApplicationChange,
      origin: RequestOrigin,
      { icon, ...options }: ChangeOptions & { icon?: Buffer | null | undefined } = {},
    ) => {
      const changeBoth = async (sql: Transaction, before: Application) => {
        // A program of a document says itself what it is. Who may use it, the rules of resources say.
        if (before.kind === 'document') return refuse('no_application')
        const changed = await changeInside(needed, sql, before, change, origin)
        if (isRefused(changed) || icon === undefined) return changed
        await openForFiles(needed).setIcon(sql, changed.application, icon, origin)
        const summary = [changed.summary, icon ? 'icon' : 'icon removed'].filter(Boolean).join(', ')
        return { ...changed, summary }
      }
      try {
        return await whileHeld(needed, id, origin, options, unlessOwned(changeBoth))
      } catch (error) {
        if (isUniqueViolation(error, 'applications_name')) return refuse('name_taken')
        throw error
      }
    },

    ...openSecretChanges(needed),

    /** Ends the use of the application by everybody, and changes nothing else. */
    endAccess: (id: string, origin: RequestOrigin) =>
      whileHeld(needed, id, origin, { endsAccess: true }, async (_, application) => ({ application })),

    /**
     * The sessions, codes and tokens of the application are deleted with it, and it gets no more logout notices. `evenIfUsed`: it is
     * deleted even if users lose access.
     */
    delete: (
      id: string,
      origin: RequestOrigin,
      { evenIfUsed = false, ...options }: ChangeOptions & { evenIfUsed?: boolean } = {},
    ) =>
      whileHeld(
        needed,
        id,
        origin,
        options,
        unlessOwned(async (sql, application) => {
          const userCount = await usedApplications.countUsers(sql, id)
          if (userCount > 0 && !evenIfUsed) return refuse('application_in_use', { users: userCount })
          return deleteInside(needed, sql, application, origin)
        }),
      ),

    forFiles: openForFiles(needed),
  }
}

/** Why an application cannot be as it was described. */
export type NewApplicationRefusal =
  | ApplicationRefusal
  | Refused<'name_taken'>
  | (Refused<'no_group'> & { group: string })
  | (Refused<'origin_taken'> & { origin: string | undefined })
  | (Refused<'id_taken'> & { id: string })

/** Sentences for operators whose command or file describes an application that is refused. */
const sentences: {
  [Code in NewApplicationRefusal['refused']]: (refusal: Extract<NewApplicationRefusal, { refused: Code }>) => string
} = {
  name_taken: () => 'Another application has this name: small and large letters are the same.',
  no_group: ({ group }) => `There is no group ${group}.`,
  origin_taken: ({ origin }) => `Another application has the address ${origin}.`,
  id_taken: ({ id }) => `Another application has the id ${id}.`,
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

export const applicationRefusalSentence = (refusal: NewApplicationRefusal) =>
  (sentences[refusal.refused] as (refusal: NewApplicationRefusal) => string)(refusal)
