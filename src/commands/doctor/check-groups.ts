import { type Config, type Environment, secretFilesIn } from '../../config.js'
import type { CheckGroup } from './check.js'
import { databaseChecks } from './database.js'
import { machineChecks } from './machine.js'
import { outsideChecks } from './outside.js'
import { redisChecks } from './redis.js'
import { isContainer } from './secret-files.js'

/** All checks, in the order in which the command prints them. */
export const checkGroups = (config: Config, env: Environment): CheckGroup[] => {
  const secretFiles = isContainer(env) ? [] : secretFilesIn(env)
  return [machineChecks(config, secretFiles), databaseChecks(config), redisChecks(config), outsideChecks(config)]
}
