import { OperatorError } from '../../lib/operator-error.js'

export type HolderKind = 'service' | 'command'

/** The process that has the lock on a data directory. If `isSilent`, it does not answer. */
export type Holder = { kind: HolderKind; pid: number; isSilent: boolean }

const whatToDo = ({ kind, pid, isSilent }: Holder) => {
  if (isSilent)
    return `a ${kind} that does not answer, process ${pid}: if it is paused, continue it (kill -CONT ${pid}); else end it (kill -KILL ${pid}).`
  if (kind === 'command')
    return `another command, process ${pid}: wait until it has ended, or end it (kill ${pid}), or choose another DATA_DIR.`
  return `another running Latchkey, process ${pid}: stop that one first (kill ${pid}), or choose another DATA_DIR.`
}

const unknownHolder = 'another running Latchkey: stop that one first, or choose another DATA_DIR.'

export class DataDirectoryInUse extends OperatorError {
  override name = 'DataDirectoryInUse'
  /** Undefined on Windows, and if the holder is an older version that does not name itself. */
  readonly holder: Holder | undefined
  constructor(directory: string, holder?: Holder) {
    super(`The data directory ${directory} is in use by ${holder ? whatToDo(holder) : unknownHolder}`)
    this.holder = holder
  }
}

export class DataDirectoryOfAnotherUser extends OperatorError {
  override name = 'DataDirectoryOfAnotherUser'
  constructor(directory: string) {
    super(
      `The data directory ${directory} is in use by a Latchkey that another user runs: run the command as that user.`,
    )
  }
}

export class DataDirectoryUnreadable extends OperatorError {
  override name = 'DataDirectoryUnreadable'
  constructor(directory: string, options?: ErrorOptions) {
    super(`The data directory ${directory} cannot be read: run this as the user of the service.`, options)
  }
}

const isDiskFull = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOSPC'

export class DataDirectoryUnwritable extends OperatorError {
  override name = 'DataDirectoryUnwritable'
  constructor(directory: string, options?: ErrorOptions) {
    const advice = isDiskFull(options?.cause)
      ? 'its disk is full: free some space'
      : 'give this user the right to, or choose another DATA_DIR'
    super(`The data directory ${directory} cannot be written to: ${advice}.`, options)
  }
}

export class NoDatabase extends OperatorError {
  override name = 'NoDatabase'
  constructor(directory: string) {
    super(
      `There is no database in ${directory}: set DATA_DIR to the folder of your service. (To make a new database there, run \`latchkey serve\`.)`,
    )
  }
}
