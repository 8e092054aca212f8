import { OperatorError } from '../lib/operator-error.js'

/** Everything that is wrong with a configuration file, a line each. */
export class ConfigurationFault extends OperatorError {
  override name = 'ConfigurationFault'
}

/** `line` is left out if the fault has none. */
export const faultIn = (path: string, sentence: string, line?: number) =>
  new ConfigurationFault(`${path}${line === undefined ? '' : `, line ${line}`}: ${sentence}`)
