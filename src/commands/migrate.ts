import type { SchemaStatus } from '../platform/database/migrate.js'
import { type Command, print, readArguments, UsageFault } from './command.js'

const upToDate = 'The database is up to date.'

/** Which older programs can still run on the schema. */
const wayBack = (oldestProgram: number | null) =>
  oldestProgram === null ? '' : `; programs that have migration ${oldestProgram} can run on it`

const statusLines = ({ applied, pending, newer }: SchemaStatus) => [
  ...applied.map(({ name, appliedAt, oldestProgram }) => {
    const unknown = newer.includes(name) ? ', by a newer version' : ''
    return `${name}  applied ${appliedAt.toISOString()}${unknown}${wayBack(oldestProgram)}`
  }),
  ...pending.map(({ name, oldestProgram }) => `${name}  not applied${wayBack(oldestProgram)}`),
]

const plan = ({ pending }: SchemaStatus) =>
  pending.length === 0 ? upToDate : `Would apply ${pending.map(({ name }) => name).join(', ')}.`

const noGrant =
  'Nothing was granted to a role of the service. If it uses another role, name it with --grant-to or in DATABASE_URL.'

export const migrate: Command = {
  summary: "Bring the database to this version's schema",
  help: `latchkey migrate [--dry-run | --status] [--grant-to ROLE]

Applies the migrations that are missing, as the role of DATABASE_OWNER_URL, or of DATABASE_URL if that owns the tables.
No other setting is needed. The role of the service (of DATABASE_URL, or ROLE) gets the rights it needs, and no others.

  --dry-run          show what would be applied and change nothing
  --status           list every migration and when it was applied; change nothing
  --grant-to ROLE    the role of the service, if DATABASE_URL is not set here`,

  run: async (args, context) => {
    const { values } = readArguments(
      args,
      { 'dry-run': { type: 'boolean' }, status: { type: 'boolean' }, 'grant-to': { type: 'string' } },
      [],
    )
    if (values['dry-run'] && values.status) throw new UsageFault('--dry-run and --status cannot be used together.')
    const { applyMissing, placeFrom, statusOf } = await import('./migrate-database.js')
    const place = placeFrom(context.environment)
    if (values['dry-run'] || values.status) {
      const status = await statusOf(place)
      await print(context.stdout, values.status ? statusLines(status).join('\n') : plan(status))
      return 0
    }
    const role = values['grant-to'] ?? ('serviceRole' in place ? place.serviceRole : undefined)
    const applied = await applyMissing(place, role)
    await print(context.stdout, applied.length === 0 ? upToDate : `Applied ${applied.join(', ')}.`)
    if ('ownerUrl' in place && role === undefined && !context.environment.DATABASE_URL)
      await print(context.stderr, noGrant)
    return 0
  },
}
