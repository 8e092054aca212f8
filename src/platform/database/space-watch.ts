import { statfs } from 'node:fs/promises'
import { codeOf } from '../../lib/caught.js'
import { type Database, type Sql, StoreUnavailable } from './database.js'

/** The SQLSTATE of a full disk, and of a limit for temporary files that an administrator has set. The limit says nothing about the disk. */
const diskFullCode = '53100'
const configuredLimitCode = '53400'

/** The database layer wraps what the driver has thrown. */
const sqlStateOf = (error: unknown) => codeOf(error instanceof StoreUnavailable ? error.cause : error)

/**
 * Uses a quarter of a megabyte of the database's disk for a moment, by a sort that does not fit into `work_mem`. It leaves nothing
 * behind. Other statements prove nothing: most of them, even writes, need no new page and succeed on a full disk.
 */
const useSpace = async (sql: Sql) => {
  await sql.query(`select set_config('work_mem', '64kB', true)`)
  await sql.query(
    `select count(filling) from
       (select repeat('x', 4000 + n) as filling from generate_series(1, 64) as n order by n desc offset 0) as sorted`,
  )
}

/** Rejects if the disk of the database is full. */
export const proveSpace = async ({ transaction }: Pick<Database, 'transaction'>) => {
  try {
    await transaction(useSpace)
  } catch (error) {
    if (sqlStateOf(error) !== configuredLimitCode) throw error
  }
}

/** How long a good result is used. The proof takes some milliseconds, and anyone may ask for the health. */
const proofHoldsMs = 5_000
/** How long a failed statement means that the disk is full. The proof may not notice: temporary files may be on another disk. */
const failureHoldsMs = 15_000

/** Knows whether the database has space left, by its own proof and by the failures of other statements. */
export const createSpaceWatch = (database: Pick<Database, 'transaction'>) => {
  let provenAt = Number.NEGATIVE_INFINITY
  let failure: { at: number; error: unknown } | undefined

  return {
    /** Called for every failure of a statement. */
    notice: (error: unknown) => {
      if (sqlStateOf(error) === diskFullCode) failure = { at: performance.now(), error }
    },
    prove: async () => {
      const now = performance.now()
      if (failure && now - failure.at < failureHoldsMs) throw failure.error
      if (now - provenAt < proofHoldsMs) return
      await proveSpace(database)
      provenAt = now
    },
  }
}

/** The bytes that are free for this user on the disk of `path`; undefined if the file system does not say. */
export const freeSpaceAt = async (path: string) => {
  try {
    const { bavail, bsize, blocks } = await statfs(path)
    return blocks > 0 ? bavail * bsize : undefined
  } catch {
    return undefined
  }
}
