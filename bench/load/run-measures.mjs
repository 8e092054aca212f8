// What a bench with large tables does around its measures: servers of its own, an end to everything that hangs, the load before and after.
import { availableParallelism, cpus, loadavg } from 'node:os'
import { openStores } from '../subjects/stores.mjs'

/** @typedef {NonNullable<import('../subjects/stores.mjs').Stores>} Stores */

const timeout = 3 * 60 * 60_000

/**
 * Those that are named, or all.
 * @param {Record<string, (stores: Stores) => Promise<void>>} measures
 * @param {string[]} named
 * @param {Record<string, string>} [settings] of PostgreSQL
 */
export const runMeasures = async (measures, named, settings = {}) => {
  const names = named.length > 0 ? named : Object.keys(measures)
  if (names.some((name) => !(name in measures))) {
    console.error(`You can measure ${Object.keys(measures).join(', ')}.`)
    process.exit(2)
  }
  // Servers are kept by processes that end with this one, however it ends.
  setTimeout(() => {
    console.error(`The run was stopped after ${timeout / 60_000} minutes: something hangs.`)
    process.exit(1)
  }, timeout).unref()

  const stores = await openStores({
    full_page_writes: 'on',
    shared_buffers: '1GB',
    max_wal_size: '4GB',
    maintenance_work_mem: '512MB',
    ...settings,
  })
  if (!stores) throw new Error('PostgreSQL and Redis are needed')
  console.log(`${availableParallelism()} cores (${cpus()[0]?.model ?? 'of an unknown kind'}), Node ${process.version}`)
  try {
    for (const name of names) {
      const before = loadavg()[0]?.toFixed(1)
      await measures[name]?.(stores)
      console.log(`\nLoad average ${before} before, ${loadavg()[0]?.toFixed(1)} after.`)
    }
  } finally {
    await stores.close()
  }
}
