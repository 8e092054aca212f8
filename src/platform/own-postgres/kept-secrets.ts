import { randomBytes } from 'node:crypto'
import { chmod, link, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../lib/caught.js'
import { OperatorError } from '../../lib/operator-error.js'
import { syncFolder } from '../sync-folder.js'
import { DataDirectoryUnwritable } from './folder-lock.js'

/** The secrets that the service makes if nobody gives them, by the names of their files. */
export type KeptSecret = 'jwt_secret' | 'sealing_key' | 'postgres_owner' | 'postgres_service'

export const secretsFolder = (dataDir: string) => join(dataDir, 'secrets')

/** A secret of an earlier start; undefined if there is none. Creates nothing. */
export const keptSecret = async (dataDir: string, name: KeptSecret) => {
  const file = join(secretsFolder(dataDir), name)
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw new OperatorError(`The file ${file} cannot be read: run this as the user of the service.`, { cause })
  })
  if (content === undefined) return undefined
  const secret = content.trim()
  if (secret.length < 64) throw new OperatorError(`The file ${file} is damaged: restore it from a backup.`)
  return secret
}

/** The same, where several stand in one file with commas between them: the first signs or seals, all of them open. */
export const keptSecrets = async (dataDir: string, name: KeptSecret) => (await keptSecret(dataDir, name))?.split(',')

/** Refuses secrets that another user has made, and closes those of this user to all others. */
export const requireOwnSecrets = async (dataDir: string) => {
  const folder = secretsFolder(dataDir)
  const names = await readdir(folder).catch(() => undefined)
  if (!names) return
  for (const path of [folder, ...names.map((name) => join(folder, name))]) {
    const { uid, mode } = await lstat(path)
    if (uid !== process.getuid?.())
      throw new OperatorError(
        `${path} belongs to another user: make its owner the user of the service, if you know what is in it.`,
      )
    if ((mode & 0o077) !== 0) await chmod(path, mode & 0o700)
  }
}

/** File systems without hard links. */
const noLinkCodes = new Set<unknown>(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** The file gets its name when its content is on disk. If several processes do this at once, the first decides. */
const writeOnce = async (folder: string, name: KeptSecret, secret: string) => {
  const [draft, file] = [join(folder, `${name}.${randomBytes(8).toString('hex')}`), join(folder, name)]
  try {
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(`${secret}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await link(draft, file).catch((error: unknown) => {
      if (noLinkCodes.has(codeOf(error))) return rename(draft, file)
      if (codeOf(error) !== 'EEXIST') throw error
      return undefined
    })
    await syncFolder(folder)
  } finally {
    await rm(draft, { force: true })
  }
}

/** A secret of an earlier start, or a new one, which is on disk before it is used. */
export const makeSecret = async (
  dataDir: string,
  name: KeptSecret,
  secret = randomBytes(48).toString('hex'),
): Promise<string> => {
  const known = await keptSecret(dataDir, name)
  if (known !== undefined) return known
  const folder = secretsFolder(dataDir)
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await syncFolder(dataDir)
    await writeOnce(folder, name, secret)
  } catch (cause) {
    throw new DataDirectoryUnwritable(folder, { cause })
  }
  const agreed = await keptSecret(dataDir, name)
  if (agreed === undefined) throw new DataDirectoryUnwritable(folder)
  return agreed
}
