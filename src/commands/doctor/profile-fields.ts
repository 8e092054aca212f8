import { systemClock } from '../../lib/clock.js'
import { countText } from '../../lib/text.js'

import type { Database } from '../../platform/database/database.js'
import { readProfileFields } from '../../service/operator-files.js'
import type { Config } from '../../settings/config.js'
import { createProfileFields } from '../../users/profile-fields.js'
import { type Finding, ok, warning, worstOf } from './check.js'

/** Checks the file, and what users have: required fields that most users lack, and values of fields that are no longer in the file. */
export const checkProfileFields = async ({ profileFieldsFile }: Config, database?: Database): Promise<Finding> => {
  const definitions = await readProfileFields(profileFieldsFile)
  const okText = definitions.length === 0 ? 'none' : countText(definitions.length, 'field')
  if (!database) return ok(okText)
  const counts = await createProfileFields({ database, clock: systemClock, definitions }).count()
  const [row] = await database.query<{ users: number }>('select count(*)::int as users from users')
  const users = row?.users ?? 0
  const mostlyMissingFields = definitions.filter(
    ({ key, required }) => required && (counts.find((each) => each.key === key)?.users ?? 0) < users / 2,
  )
  const leftoverFields = counts.filter(({ key }) => !definitions.some((each) => each.key === key))
  return worstOf(okText, [
    ...mostlyMissingFields.map(({ key }) =>
      warning(`most users have no ${key}, which is required: each is asked for it at the next sign-in`),
    ),
    ...leftoverFields.map((each) =>
      warning(
        `${each.key} has left PROFILE_FIELDS_FILE, but values are left (${countText(each.users, 'user')}): latchkey fields purge ${each.key} --yes`,
      ),
    ),
    ok(''),
  ])
}
