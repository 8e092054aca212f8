import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { testProgram } from '../../support/servers/programs.js'
import { until } from '../../support/until.js'
import { startEtcd } from './etcd.js'
import { type PatroniNode, startNode } from './patroni-node.js'

const run = promisify(execFile)

type Member = { name: string; role: string; state: string }

/** Three PostgreSQL servers under Patroni with synchronous replication, and one etcd. */
export const startPatroniCluster = async () => {
  const etcd = await startEtcd()
  const nodes: PatroniNode[] = []
  for (const name of ['one', 'two', 'three']) nodes.push(await startNode(name, etcd.address))

  const members = async (): Promise<Member[]> => {
    const answers = nodes.map(async (node) => (await node.ask('/cluster')).json())
    const { members: known } = await Promise.any(answers).catch(() => ({ members: [] }))
    return known
  }
  const nodeWith = async (role: string) => {
    const name = (await members()).find((member) => member.role === role)?.name
    const node = nodes.find((each) => each.name === name)
    if (!node) throw new Error(`No node has the role ${role} at the moment`)
    return node
  }
  const isWhole = async () => {
    const all = await members()
    const count = (...roles: string[]) => all.filter(({ role }) => roles.includes(role)).length
    const running = all.filter(({ state }) => ['running', 'streaming'].includes(state)).length
    return running === 3 && count('leader') === 1 && count('sync_standby') === 1
  }
  const primaryOtherThan = async (old: PatroniNode) => {
    const others = nodes.filter((node) => node !== old)
    const isPrimary = await Promise.all(others.map((node) => node.isPrimary()))
    return others.find((_, place) => isPrimary[place])
  }
  return {
    primary: () => nodeWith('leader'),
    synchronousStandby: () => nodeWith('sync_standby'),
    /** All three serve, and one of the two standbys is the synchronous one. */
    whole: () =>
      until('three nodes serve, one of them as the synchronous standby', isWhole, 120_000).catch(
        async (error: unknown) => {
          const logs = await Promise.all(nodes.map(async (node) => `${node.name}:\n${await node.log()}`))
          throw new Error(`${JSON.stringify(await members())}\n${logs.join('\n')}`, { cause: error })
        },
      ),
    promoted: (old: PatroniNode) =>
      until('another node is promoted', async () => (await primaryOtherThan(old)) !== undefined, 90_000),
    switchOver: async (from: PatroniNode, to: PatroniNode) => {
      const names = ['--leader', from.name, '--candidate', to.name]
      await run(testProgram('patronictl'), ['-c', from.file, 'switchover', 'latchkey', ...names, '--force'])
    },
    /** An address with all three hosts in it. */
    urlFor: (database: string) => {
      const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`)
      return `postgres://postgres@${hosts.join(',')}/${database}`
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()))
      await etcd.stop()
    },
  }
}

export type PatroniCluster = Awaited<ReturnType<typeof startPatroniCluster>>
