import { sealedColumns } from '../../domain/sealed-values/sealed-columns.js'
import { createSealedValues } from '../../domain/sealed-values/sealed-values.js'
import { countText } from '../../lib/count-text.js'
import type { Sql } from '../../platform/database/database.js'
import { type Finding, failure, ok, warning } from './check.js'
import { type SealingSettings, sealingSecretsOf } from './keys.js'

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)

/** Finds the keys that the stored secrets need, and so those that can be removed. Opens none of the secrets. */
export const checkSealedValues = async (
  sql: Sql,
  config: SealingSettings,
  columns = sealedColumns,
): Promise<Finding> => {
  const secrets = await sealingSecretsOf(config)
  const setting = config.sealingKey ? 'SEALING_KEY' : 'JWT_SECRET'
  const found = await createSealedValues(secrets, columns).count(sql)
  const byFirst = sum(found.map((each) => each.byFirst))
  const byOthers = sum(found.map((each) => each.byOthers))
  const lost = found.filter(({ column, byMissing }) => !column.canDoWithout && byMissing > 0)
  const byMissing = sum(lost.map((each) => each.byMissing))
  const waysOut = [...new Set(lost.flatMap(({ column: { wayOut } }) => wayOut ?? []))]
  if (byMissing > 0)
    return failure(
      `the key of ${countText(byMissing, 'stored secret')} is missing, and the service does not start: add it to the end of SEALING_KEY again. ${waysOut.join(' ')}`.trimEnd(),
    )
  if (byOthers > 0)
    return warning(
      `${countText(byOthers, 'stored secret')} sealed with an old key of ${setting}: do not remove it. The next start of an instance seals with the first`,
    )
  const all = byFirst === 0 ? 'no secrets are stored' : `${countText(byFirst, 'stored secret')}, sealed with ${setting}`
  return ok(secrets.length > 1 ? `${all}; they need only the first of its ${secrets.length} keys` : all)
}
