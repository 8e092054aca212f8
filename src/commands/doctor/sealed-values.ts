import { sealedColumns } from '../../keys/sealed-columns.js'
import { createSealedValues, howToAddKey } from '../../keys/sealed-values.js'
import { countText } from '../../lib/text.js'
import type { Sql } from '../../platform/database/database.js'
import { type Finding, failure, ok, warning } from './check.js'
import { type SealingSettings, sealingSecretsOf } from './keys.js'

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

/** Finds out which keys the stored secrets need, and so which keys can be removed. It decrypts none of the secrets. */
export const checkSealedValues = async (
  sql: Sql,
  config: SealingSettings,
  columns = sealedColumns,
): Promise<Finding> => {
  const secrets = await sealingSecretsOf(config)
  const setting = config.sealingKey ? 'SEALING_KEY' : 'JWT_SECRET'
  const counts = await createSealedValues(secrets, columns).count(sql)
  const byFirst = sum(counts.map((each) => each.byFirst))
  const byOthers = sum(counts.map((each) => each.byOthers))
  const lostColumns = counts.filter(({ column, byMissing }) => !column.canDoWithout && byMissing > 0)
  const byMissing = sum(lostColumns.map((each) => each.byMissing))
  const waysOut = [...new Set(lostColumns.flatMap(({ column: { wayOut } }) => wayOut ?? []))]
  if (byMissing > 0)
    return failure(
      `the key of ${countText(byMissing, 'stored secret')} is missing, and the service does not start. ${howToAddKey}. ${waysOut.join(' ')}`.trimEnd(),
    )
  if (byOthers > 0)
    return warning(
      `${countText(byOthers, 'stored secret')} sealed with an old key of ${setting}: do not remove it. The next start of an instance seals them with the first key`,
    )
  const summary =
    byFirst === 0 ? 'no secrets are stored' : `${countText(byFirst, 'stored secret')}, sealed with ${setting}`
  return ok(secrets.length > 1 ? `${summary}; they need only the first of its ${secrets.length} keys` : summary)
}
