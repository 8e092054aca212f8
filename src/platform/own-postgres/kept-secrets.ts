import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../lib/operator-error.js'
import { DataDirectoryUnwritable } from './database/directory-faults.js'

const hasCode = (error: unknown, code: string) => error instanceof Error && 'code' in error && error.code === code

/** The content of the file; undefined if it is missing or empty. */
const readIfNotEmpty = async (file: string) => {
  try {
    return (await readFile(file, 'utf8')).trim() || undefined
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** A list with the secret of an earlier start; an empty list if there is none. Creates nothing. */
export const existingSecrets = async (directory: string) => {
  const secret = await readIfNotEmpty(join(directory, 'secret')).catch((cause: unknown) => {
    throw new OperatorError(`The file secret in ${directory} cannot be read: run this as the user of the service.`, {
      cause,
    })
  })
  return secret === undefined ? [] : [secret]
}

/** Runs `use` on a new file whose content is safely on disk, and removes the file if it is still there. */
const withDurableFile = async (directory: string, content: string, use: (path: string) => Promise<void>) => {
  const path = join(directory, `secret.${randomBytes(8).toString('hex')}`)
  try {
    const handle = await open(path, 'wx', 0o600)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await use(path)
  } finally {
    await rm(path, { force: true })
  }
}

/** Writes the names in the folder to disk, so that a new name survives a power cut. Not every platform supports this. */
const syncDirectory = async (directory: string) => {
  const handle = await open(directory, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/**
 * If several processes find no secret at the same time, the first that links the claim decides for all. The claim is
 * removed only after the file has been written, and each process reads the claim before it looks at the file. So a process
 * that finds no secret has read the only claim, and all processes write the same secret.
 */
const agreeOnSecret = async (directory: string, file: string) => {
  const claim = join(directory, 'secret.claim')
  await withDurableFile(directory, randomBytes(48).toString('hex'), (candidate) =>
    link(candidate, claim).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    }),
  )
  const agreedSecret = await readIfNotEmpty(claim)
  if (agreedSecret !== undefined && (await readIfNotEmpty(file)) === undefined)
    await withDurableFile(directory, agreedSecret, (path) => rename(path, file))
  await syncDirectory(directory)
  await rm(claim, { force: true })
  return readIfNotEmpty(file)
}

/**
 * The signing secret if none is configured. It is generated at the first start and kept, so that a restart signs no user out.
 * After a crash the file is complete or does not exist.
 */
export const generatedSecret = async (directory: string) => {
  const file = join(directory, 'secret')
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const secret = (await readIfNotEmpty(file)) ?? (await agreeOnSecret(directory, file))
    if (secret !== undefined) return secret
  } catch (cause) {
    throw new DataDirectoryUnwritable(directory, { cause })
  }
  throw new DataDirectoryUnwritable(directory)
}
