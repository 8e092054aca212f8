import { isRefused } from '../contract/outcome.js'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'

import type { Log } from '../platform/log.js'
import type { Config } from '../settings/config.js'
import type { FileFault } from './leaked-file.js'
import { openLeakedList } from './leaked-list.js'

const faults: Readonly<Record<FileFault, string>> = {
  foreign: 'is not a file that `latchkey passwords build` has made',
  other_version: 'was made for another version of Latchkey: build it again',
  truncated: 'is not complete: copy or build it again',
  damaged: 'is damaged: copy or build it again',
}

export const leakedFileFault = (path: string, fault: FileFault) =>
  new OperatorError(`BREACHED_PASSWORDS: ${path} ${faults[fault]}`)

/** Waits for `work`, which reads the file. If that fails, the error says in one sentence why the file cannot be read. */
export const explainReadFault = <Result>(path: string, work: Promise<Result>) =>
  work.catch((error: unknown) => {
    throw new OperatorError(`BREACHED_PASSWORDS: the file cannot be read: ${path} (${whyUnreadable(error)})`)
  })

/** The list that BREACHED_PASSWORDS names. */
export const openLeakedPasswords = async ({ breachedPasswords: path }: Pick<Config, 'breachedPasswords'>, log: Log) => {
  if (path === undefined) return undefined
  const list = await explainReadFault(path, openLeakedList(path, log))
  if (isRefused(list)) throw leakedFileFault(path, list.refused)
  log.info({ entries: list.count() }, 'the list of leaked passwords is open: users cannot choose one of them')
  return list
}
