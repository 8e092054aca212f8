import type { Config } from '../../config.js'
import { sealedColumns } from '../../domain/sealed-values/sealed-columns.js'
import { createSealedValues } from '../../domain/sealed-values/sealed-values.js'
import { signsFor } from '../../domain/signing-keys/schedule.js'
import { createSigningKeys } from '../../domain/signing-keys/signing-keys.js'
import { systemClock } from '../../lib/clock.js'
import { days } from '../../lib/durations.js'
import type { Database } from '../../platform/database/database.js'
import { existingSecret } from '../../platform/generated-secret.js'
import { counted } from '../terminal/counted.js'
import { type Finding, failure, ok, warning } from './check.js'

/** What seals stored secrets. */
export const sealingSecretsOf = async ({ sealingKey, jwtSecret, dataDir }: SealingSettings) =>
  sealingKey ?? jwtSecret ?? (await existingSecret(dataDir))

export type SealingSettings = Pick<Config, 'sealingKey' | 'jwtSecret' | 'dataDir'>

const asDate = (moment: Date) => moment.toISOString().slice(0, 10)

/** The key that signs access tokens, how old it is, and whether the next one is waiting. */
export const checkSigningKeys = async (
  database: Database,
  config: SealingSettings & Pick<Config, 'accessTokenAlgorithm'>,
): Promise<Finding> => {
  const sealedValues = createSealedValues(await sealingSecretsOf(config), sealedColumns)
  const keys = await createSigningKeys({ database, clock: systemClock, sealedValues }).list()
  if (keys.some(({ state }) => state === 'unopened'))
    return failure('a signing key cannot be opened: use the SEALING_KEY of the other instances')
  const [current, waiting] = ['current', 'waiting'].map((state) => keys.find((key) => key.state === state))
  if (config.accessTokenAlgorithm !== 'ES256')
    return ok(
      keys.length === 0
        ? 'JWT_SECRET signs access tokens'
        : `JWT_SECRET signs access tokens; ${counted(keys.length, 'key')} published`,
    )
  if (!current) return ok('the first start with ES256 makes a key')
  const age = Date.now() - current.signsFrom.getTime()
  const says = `${current.id} signs since ${asDate(current.signsFrom)}${waiting ? `, ${waiting.id} from ${waiting.signsFrom.toISOString()}` : ''}`
  return age > signsFor + 1 * days && !waiting
    ? warning(`${says}: it is older than 90 days, and no running instance has ACCESS_TOKEN_ALGORITHM=ES256`)
    : ok(says)
}
