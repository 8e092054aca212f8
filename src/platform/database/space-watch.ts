import { type Database, type Sql, StoreUnavailable } from './database.js'

/** SQLSTATE of a full disk, and of a limit of temporary files that an administrator has set, which says nothing about the disk. */
const diskFull = '53100'
const configuredLimit = '53400'

const codeOf = (error: unknown) => {
  const failure = error instanceof StoreUnavailable ? error.cause : error
  return failure instanceof Error && 'code' in failure ? failure.code : undefined
}

/**
 * Needs a quarter of a megabyte of the database's disk for a moment, and leaves nothing behind: a sort that does not fit into
 * its memory. Most statements, and even most writes, need no new page: they succeed on a full disk.
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
    if (codeOf(error) !== configuredLimit) throw error
  }
}

/** How long a good result counts: the proof takes some milliseconds, and anyone may ask for the health. */
const proofHoldsMs = 5_000
/** How long a statement that found the disk full counts: temporary files may be on another disk than the tables. */
const failureHoldsMs = 15_000

/** Knows whether the database has space left: by a proof of its own, and by what other statements report. */
export const createSpaceWatch = (database: Pick<Database, 'transaction'>) => {
  let provenAt = Number.NEGATIVE_INFINITY
  let failure: { at: number; error: unknown } | undefined

  return {
    /** Told of every failure of a statement. */
    notice: (error: unknown) => {
      if (codeOf(error) === diskFull) failure = { at: performance.now(), error }
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
