// What rows and indexes need on the disk, and how long a backup takes.
import { spawn } from 'node:child_process'
import { Pool } from 'pg'
import { printTable } from '../../load/rounds.mjs'
import { largeDatabase } from '../../subjects/large.mjs'

/** @typedef {NonNullable<import('../../subjects/stores.mjs').Stores>} Stores */

const inMegabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`

/** The bytes that `pg_dump` writes, compressed as it does by itself. @type {(url: string) => Promise<number>} */
const dump = (url) =>
  new Promise((resolve, reject) => {
    const child = spawn('pg_dump', ['--format=custom', url], { stdio: ['ignore', 'pipe', 'inherit'] })
    let bytes = 0
    child.stdout.on('data', (part) => (bytes += part.length))
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(bytes) : reject(new Error(`pg_dump ended with ${code}`))))
  })

/** @param {Stores} stores */
export const measureRoom = async (stores) => {
  const url = await largeDatabase(stores)
  const sql = new Pool({ connectionString: url, max: 1 })
  try {
    // A table in parts has nothing itself.
    const { rows: tables } = await sql.query(`select relname as name, greatest(reltuples, 1)::float8 as rows,
        sum(pg_table_size(coalesce(part.relid, oid)))::float8 as data,
        sum(pg_indexes_size(coalesce(part.relid, oid)))::float8 as indexes
      from pg_class left join lateral pg_partition_tree(oid) as part on isleaf
      where relname in ('users', 'sessions', 'events') and relkind in ('r', 'p')
      group by relname, reltuples order by relname`)
    printTable('Tables', [
      ['table', 'rows', 'data', 'indexes', 'bytes for a row, with indexes'],
      ...tables.map(({ name, rows, data, indexes }) => [
        name,
        `${(rows / 1e6).toFixed(2)} million`,
        inMegabytes(data),
        inMegabytes(indexes),
        ((data + indexes) / rows).toFixed(0),
      ]),
    ])
    const { rows: indexes } =
      await sql.query(`select indexrelname as name, pg_relation_size(indexrelid)::float8 as bytes
      from pg_stat_user_indexes where relname in ('users', 'sessions', 'events') order by 2 desc`)
    printTable('Indexes', [['index', 'size'], ...indexes.map(({ name, bytes }) => [name, inMegabytes(bytes)])])
    const begun = performance.now()
    const bytes = await dump(url)
    console.log(`\npg_dump: ${inMegabytes(bytes)} in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  } finally {
    await sql.end()
  }
}
