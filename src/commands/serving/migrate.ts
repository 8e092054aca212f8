import type { SchemaStatus } from '../../platform/database/migrate.js'
import { CommandFailure, commandWithoutRooms, UsageFault } from '../command.js'
import type { MigrationTarget } from './migrate-database.js'

/** Says which older versions can still run on the schema. */
const olderVersionsText = (oldestProgram: number | null) =>
  oldestProgram === null ? '' : `; versions that have migration ${oldestProgram} can run on it`

const statusLines = ({ applied, pending, newer }: SchemaStatus) => [
  ...applied.map(({ name, appliedAt, oldestProgram }) => {
    const byNewer = newer.includes(name) ? ', by a newer version' : ''
    return `${name}  applied ${appliedAt.toISOString()}${byNewer}${olderVersionsText(oldestProgram)}`
  }),
  ...pending.map(({ name, oldestProgram }) => `${name}  not applied${olderVersionsText(oldestProgram)}`),
]

const nothingToApplyText = ({ newer }: SchemaStatus, name: string) =>
  newer.length === 0
    ? `Nothing to apply: ${name} is up to date.`
    : `Nothing to apply: ${name} has ${newer.join(', ')} of a newer version, and this version can run on it.`

const summaryOf = (applied: readonly string[], status: SchemaStatus, name: string, role: string | undefined) => {
  const isGranted = role !== undefined && status.newer.length === 0
  if (applied.length === 0)
    return `${nothingToApplyText(status, name)}${isGranted ? ` ${role} has the rights it needs.` : ''}`
  const isFirstRun = applied.length === status.applied.length
  return isFirstRun ? `Created the tables of ${name}.` : `Applied ${applied.join(', ')} to ${name}.`
}

const noRoleHint =
  'Nothing was granted to a role of the service. If it uses another role, name it with --grant-to or in DATABASE_URL.'
const noGrantMessage = (role: string) =>
  `Nothing was granted to ${role}: only the newer version knows which rights it needs now. Run \`latchkey migrate\` of that version.`

const statusAsObject = ({ applied, pending, newer }: SchemaStatus) => ({
  applied: applied.map(({ name, appliedAt }) => ({ name, appliedAt: appliedAt.toISOString() })),
  pending: pending.map(({ name }) => name),
  newer,
})

const statusOutput = ({ tooNew, ...status }: SchemaStatus & { tooNew?: string }) => ({
  json: statusAsObject(status),
  text: statusLines(status).join('\n'),
  notes: tooNew === undefined ? [] : [tooNew],
  code: tooNew === undefined ? 0 : 1,
})

const planOutput = (status: SchemaStatus, name: string) => {
  const names = status.pending.map(({ name }) => name)
  const planText =
    status.applied.length === 0 ? `Would create the tables of ${name}.` : `Would apply ${names.join(', ')} to ${name}.`
  return { json: statusAsObject(status), text: names.length === 0 ? nothingToApplyText(status, name) : planText }
}

/** The role of the service, which gets rights. --grant-to names it, or else DATABASE_URL. */
const roleFrom = (grantTo: string | undefined, target: MigrationTarget) => {
  if (grantTo === undefined) return target.serviceRole
  if (grantTo.trim() === '') throw new UsageFault('--grant-to takes the name of a role, and the name is empty.')
  if ('own' in target)
    throw new CommandFailure(
      '--grant-to is for a PostgreSQL that DATABASE_OWNER_URL names. The roles of the one that Latchkey brings along are known.',
    )
  return grantTo
}

export const migrate = commandWithoutRooms({
  summary: "Bring the database to this version's schema",
  help: `latchkey migrate [--dry-run | --status] [--grant-to ROLE] [--json]

Applies the migrations that are missing, as the role of DATABASE_OWNER_URL. If that is not set, the role of DATABASE_URL must own
the tables. No other setting is needed. The role of the service (of DATABASE_URL, or ROLE) gets the rights it needs, and no others.

  --dry-run          check both roles, show what would be applied, and change nothing
  --status           list every migration and when it was applied, and change nothing. The exit code is 1 if a newer
                     version has changed the schema so that this version must not run on it
  --grant-to ROLE    the role of the service, if DATABASE_URL is not set here`,
  json: `one JSON object, for programs: {"applied": […], "pending": […], "newer": […]}, where applied has
                     what this run has applied; with --status and --dry-run, all that was ever applied`,
  options: { 'dry-run': { type: 'boolean' }, status: { type: 'boolean' }, 'grant-to': { type: 'string' } },
  run: async ({ values, context: { environment } }) => {
    if (values['dry-run'] && values.status) throw new UsageFault('--dry-run and --status cannot be used together.')
    const { applyMissing, nameOfTarget, targetFrom, planFor, statusOf } = await import('./migrate-database.js')
    const target = targetFrom(environment)
    const name = nameOfTarget(target)
    const role = roleFrom(values['grant-to'], target)
    if (values.status) return statusOutput(await statusOf(target))
    if (values['dry-run']) return planOutput(await planFor(target, role), name)
    const { applied, status } = await applyMissing(target, role)
    return {
      json: { applied, pending: [], newer: status.newer },
      text: summaryOf(applied, status, name, role),
      notes: [
        ...(role !== undefined && status.newer.length > 0 ? [noGrantMessage(role)] : []),
        ...(role === undefined && !environment.DATABASE_URL ? [noRoleHint] : []),
      ],
    }
  },
})
