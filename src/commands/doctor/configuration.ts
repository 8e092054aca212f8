import { applicationsWithoutSecret } from '../../configuration/configuration-file.js'
import { readConfiguration } from '../../configuration/read-configuration.js'
import { operatorClient } from '../../http/request-origin.js'
import { OperatorError } from '../../lib/operator-error.js'
import { countText } from '../../lib/text.js'
import type { Database } from '../../platform/database/database.js'
import type { Config, Environment } from '../../settings/config.js'
import type { CommandRooms } from '../command.js'
import { openRoomsForCommand } from '../open-for-commands.js'
import { printableText } from '../terminal/printing.js'
import { type Finding, failure, ok, warning } from './check.js'

const planOf = async ({ configurationFiles, liveSettings }: CommandRooms, path: string, environment: Environment) => {
  const configuration = await readConfiguration({ path }, { environment, liveSettings })
  const wish = { prune: false, makesSecrets: false }
  return configurationFiles.plan(configuration, operatorClient('latchkey doctor'), wish)
}

/** What the next start or SIGHUP would do. A plan is rolled back. */
export const checkConfigurationFile = async (path: string, config: Config, env: Environment): Promise<Finding> => {
  const rooms = await openRoomsForCommand(config, 'service role')
  try {
    const { changes } = await planOf(rooms, path, env)
    const count = countText(changes.length, 'thing')
    return ok(changes.length === 0 ? `${path} is applied` : `${path} would change ${count} at the next start or SIGHUP`)
  } catch (error) {
    if (error instanceof OperatorError)
      return failure(`it cannot be applied: ${printableText(error.message.replaceAll('\n', '; '))}`)
    throw error
  } finally {
    await rooms.close()
  }
}

/** An application of the kind web cannot sign anybody in before it has a secret. */
export const checkApplicationSecrets = async (database: Database): Promise<Finding> => {
  const names = (await applicationsWithoutSecret(database)).map(printableText)
  return names.length === 0
    ? ok('every application that needs a secret has one')
    : warning(
        `${names.join(', ')}: no secret, so nobody can sign in there; \`latchkey application secret add APPLICATION\` makes one`,
      )
}
