import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findProgram } from '../support/servers/programs.js'
import { startRedis } from '../support/servers/redis.js'
import { until } from '../support/until.js'

const run = promisify(execFile)

const ask = async (port: number, ...words: string[]) => {
  const { stdout } = await run(findProgram('redis-cli', 'valkey-cli') ?? 'redis-cli', ['-p', String(port), ...words])
  return stdout
}

const stopAll = (servers: { stop(): Promise<void> }[]) => async () => {
  await Promise.all(servers.map((server) => server.stop()))
}

/** A master, a replica, and three sentinels that elect quickly. */
export const createSentinelGroup = async () => {
  const master = await startRedis()
  const replica = await startRedis({ settings: { replicaof: `127.0.0.1 ${master.port}` } })
  const sentinel = [
    `monitor main 127.0.0.1 ${master.port} 2`,
    'down-after-milliseconds main 500',
    'failover-timeout main 3000',
  ]
  const sentinels = await Promise.all([1, 2, 3].map(() => startRedis({ sentinel: true, settings: { sentinel } })))
  const first = sentinels[0]?.port ?? 0
  await until('the sentinels know each other and the replica', async () => {
    const state = await ask(first, 'sentinel', 'master', 'main')
    return /num-slaves\n1\n/.test(state) && /num-other-sentinels\n2\n/.test(state)
  })
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
    killMaster: () => master.signal('SIGKILL'),
    stop: stopAll([...sentinels, replica, master]),
  }
}

/** Three masters with a replica each. */
export const createRedisCluster = async () => {
  const settings = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '1000', 'cluster-require-full-coverage': 'no' }
  const node = () => clusterNode(settings)
  const nodes = await Promise.all([1, 2, 3, 4, 5, 6].map(node))
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
  const [first = 0, last = 0] = [nodes[0]?.port, nodes[5]?.port]
  await ask(first, '--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes')
  const isWhole = async () => {
    const state = await ask(last, 'cluster', 'info')
    return state.includes('cluster_state:ok') && state.includes('cluster_slots_ok:16384')
  }
  await until('every node has a place', isWhole)
  // A replica that has never been in step with its master is not elected.
  await until('every replica is in step', async () => {
    const states = await Promise.all(nodes.map(({ port }) => ask(port, 'info', 'replication')))
    return states.filter((state) => state.includes('master_link_status:up')).length === 3
  })
  return {
    url: `redis://${addresses.join(',')}`,
    killMaster: () => nodes[0]?.signal('SIGKILL'),
    /** Whether another node serves what the first one served. */
    hasTakenOver: async () => {
      const lines = (await ask(last, 'cluster', 'nodes')).split('\n')
      const owner = lines.find((line) => / 0-\d+$/.test(line.trim()))
      return owner !== undefined && !owner.includes(`:${first}@`) && (await isWhole())
    },
    stop: stopAll(nodes),
  }
}

/** A node also listens ten thousand above its own port, which must be free and below the end: another try helps. */
const clusterNode = async (
  settings: Record<string, string>,
  tries = 20,
): Promise<Awaited<ReturnType<typeof startRedis>>> => {
  try {
    return await startRedis({ settings })
  } catch (error) {
    if (tries === 0) throw error
    return clusterNode(settings, tries - 1)
  }
}
