import { isThisMachine } from '../../lib/networks.js'
import type { Database } from '../../platform/database/database.js'
import { postgresAddress } from '../../platform/database/postgres-address.js'
import { freeSpaceAt, proveSpace } from '../../platform/database/space-watch.js'

import { type Finding, failure, ok, warning, worstOf } from './check.js'

const megabyte = 1024 * 1024
const inMegabytes = (bytes: number) => `${Math.round(bytes / megabyte).toLocaleString('en')} MB`

const failureBelow = 50 * megabyte
const warningBelow = 1000 * megabyte

export const spaceAt = async (path: string): Promise<{ freeText: string; finding: Finding }> => {
  const bytes = await freeSpaceAt(path)
  if (bytes === undefined) return { freeText: '', finding: ok('') }
  const freeText = `, ${inMegabytes(bytes)} free`
  const says = `only ${inMegabytes(bytes)} are free at ${path}`
  if (bytes < failureBelow) return { freeText, finding: failure(says) }
  return { freeText, finding: bytes < warningBelow ? warning(says) : ok('') }
}

/** The data folder of PostgreSQL, if it is on this machine and the role may know it. */
const localDataFolder = async (database: Database, url: string) => {
  const isHere = postgresAddress(url).hosts.every(({ host }) => isThisMachine(host))
  if (!isHere) return undefined
  const [row] = await database.query<{ folder: string | null }>(
    `select case when pg_has_role('pg_read_all_settings', 'usage') then current_setting('data_directory') end as folder`,
  )
  return row?.folder ?? undefined
}

/** Checks that the database can grow, and how much space is left if that can be seen from here. */
export const checkDatabaseSpace = async (database: Database, url: string, ownFolder?: string): Promise<Finding> => {
  const [size] = await database.query<{ bytes: number }>('select pg_database_size(current_database()) as bytes')
  try {
    await proveSpace(database)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown failure'
    return failure(`${reason}: free space on its disk, until then most sign-ins fail`)
  }
  const sizeText = `the database has ${inMegabytes(size?.bytes ?? 0)} and can grow`
  const folder = ownFolder ?? (await localDataFolder(database, url))
  const { freeText, finding } = folder === undefined ? { freeText: '', finding: ok('') } : await spaceAt(folder)
  return worstOf(
    freeText === '' ? `${sizeText}; how much of its disk is free cannot be seen from here` : `${sizeText}${freeText}`,
    [finding],
  )
}
