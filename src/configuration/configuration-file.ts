import { basename } from 'node:path'
import { configurationFileIp } from '../http/request-origin.js'
import { reasonOf } from '../lib/caught.js'
import { OperatorError } from '../lib/operator-error.js'
import type { Events } from '../messages/events.js'
import { type Database, StoreUnavailable } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import type { Applied, ConfigurationFiles } from './apply.js'
import * as store from './configuration.store.js'
import { readConfiguration } from './read-configuration.js'

type Needed = {
  database: Database
  events: Pick<Events, 'recordInside'>
  liveSettings: LiveSettingsReader
  configurationFiles: ConfigurationFiles
  log: Pick<Log, 'info' | 'warn' | 'error'>
  count: (outcome: ConfigurationOutcome) => void
  /** For secrets that stand in variables. */
  environment: Readonly<Record<string, string | undefined>>
}

type ConfigurationOutcome = 'applied' | 'unchanged' | 'refused'

const origin = { ip: configurationFileIp, userAgent: 'CONFIGURATION_FILE' }
const longestFault = 1_000

/** Notes what became of the file, with an event if that is another outcome than the last time: several processes apply the same file. */
const note = ({ database, events }: Needed, path: string, { fault, changes }: { fault?: string; changes?: number }) =>
  database.transaction(async (sql) => {
    await store.lock(sql)
    const name = basename(path)
    const [former] = await store.selectFile(sql, name)
    await store.upsertFile(sql, name, fault ?? null)
    if (fault !== undefined && former?.fault !== fault)
      await events.recordInside(sql, { kind: 'configuration_refused', reason: fault }, origin)
    if (fault === undefined && (changes || former?.fault != null))
      await events.recordInside(sql, { kind: 'configuration_applied', reason: `${name}: ${changes} changes` }, origin)
  })

const tell = ({ log }: Needed, path: string, { changes }: Applied) => {
  if (changes.length === 0)
    return log.info({ path }, 'the configuration file was read: everything is like this already')
  const names = changes.map(({ kind, name, action }) => `${action} ${kind} ${name}`)
  log.info({ path, changes: names }, 'the configuration file was applied')
  const released = changes.filter(({ action }) => action === 'release').map(({ kind, name }) => `${kind} ${name}`)
  if (released.length > 0)
    log.warn(
      { path, released },
      'the configuration file does not name these any more: pages and commands may change them',
    )
  return undefined
}

/** Their names. None of them can sign anybody in. */
export const applicationsWithoutSecret = async (database: Database) =>
  (await store.selectWithoutSecret(database)).map(({ name }) => name)

const tellOfMissingSecrets = async ({ database, log }: Needed) => {
  const applications = await applicationsWithoutSecret(database)
  if (applications.length > 0)
    log.warn({ applications }, 'these applications have no secret: latchkey application secret add APPLICATION')
}

/**
 * Applies CONFIGURATION_FILE, at the start and on SIGHUP. Nothing is removed and no secret is made: nobody would see it. A file that cannot
 * be applied leaves everything as it was, and the service goes on. Returns whether something has changed.
 */
export const applyConfigurationFile = async (needed: Needed, path: string) => {
  const { configurationFiles, log, count } = needed
  try {
    const configuration = await readConfiguration({ path }, needed)
    const applied = await configurationFiles.apply(configuration, origin, { prune: false, makesSecrets: false })
    const changes = applied.changes.length
    await note(needed, path, { changes })
    count(changes > 0 ? 'applied' : 'unchanged')
    tell(needed, path, applied)
    await tellOfMissingSecrets(needed)
    return changes > 0
  } catch (error) {
    // The start tries again when the database is there.
    if (error instanceof StoreUnavailable) throw error
    count('refused')
    const fault = reasonOf(error).slice(0, longestFault)
    const isBug = error instanceof Error && (!(error instanceof OperatorError) || error.cause !== undefined)
    log.error(
      { path, reason: fault, ...(isBug && { err: error.cause ?? error }) },
      'the configuration file cannot be applied: everything stays as it was',
    )
    await note(needed, path, { fault })
    return false
  }
}
