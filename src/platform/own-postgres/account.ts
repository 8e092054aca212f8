import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * How programs of PostgreSQL are started. PostgreSQL refuses to run as root, so in development as root it gets a user namespace of its own
 * (`prefix`), or another user (`uid`, `gid`).
 */
export type Account = { prefix: readonly string[]; uid?: number; gid?: number }

const run = promisify(execFile)

export const isRoot = () => process.getuid?.() === 0

// The namespace has one user, who is root outside of it. So files stay where they are, and belong to root.
const ownNamespace = ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--']

/** The account of PostgreSQL. It is undefined for root on a machine that allows no user namespaces, such as a container with Docker's profile. */
export const usualAccount = async (): Promise<Account | undefined> => {
  if (!isRoot()) return { prefix: [] }
  const [program = '', ...args] = ownNamespace
  return run(program, [...args, 'true']).then(
    () => ({ prefix: ownNamespace }),
    () => undefined,
  )
}

/** The program and the arguments with which the account runs it. */
export const asAccount = ({ prefix }: Account, program: string, args: readonly string[]): [string, string[]] => {
  const [first = program, ...rest] = [...prefix, program, ...args]
  return [first, rest]
}

/** Whether this user may enter the folder. */
export const canEnter = (folder: string, { uid, gid }: Pick<Account, 'uid' | 'gid'>) =>
  run('/bin/sh', ['-c', 'cd "$0"', folder], { uid, gid }).then(
    () => true,
    () => false,
  )
