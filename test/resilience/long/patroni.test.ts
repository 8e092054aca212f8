import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshPostgres } from '../../support/databases.js'
import { addPeople, type Site, startSite } from '../../support/site/site.js'
import { type Clients, startClients } from './clients.js'
import { countFaultyRows, countLosses } from './losses.js'
import { type PatroniCluster, startPatroniCluster } from './patroni-cluster.js'
import { timing } from './patroni-node.js'

const names = Array.from({ length: 6 }, (_, index) => `person-${index}`)
/** docs/scale.md has the figures of several rounds. */
const rounds = Array.from({ length: Number(process.env.FAULT_ROUNDS ?? 1) }, (_, index) => index + 1)
const nothing = { lostSessions: 0, lostRegistrations: 0, doubledUsers: 0, thefts: 0, surprises: [] }

let cluster: PatroniCluster
let site: Site
const figures: Record<string, Record<string, number | string>> = {}

beforeAll(async () => {
  cluster = await startPatroniCluster()
  await cluster.whole()
  const { port } = await cluster.primary()
  const { url } = await freshPostgres(`postgres://postgres@127.0.0.1:${port}/postgres`)
  await addPeople(url, names)
  site = await startSite({ instances: 2, databaseUrl: cluster.urlFor(new URL(url).pathname.slice(1)) })
}, 240_000)

afterAll(async () => {
  await site?.stop()
  await cluster?.stop()
  console.table(figures)
}, 60_000)

const inSeconds = (milliseconds: number) => Number((milliseconds / 1000).toFixed(1))

/** The longest time without a write from the fault on, and the moment at which it was over. */
const longestGap = (writes: number[], from: number) => {
  const moments = [from, ...writes.filter((moment) => moment > from)]
  const gaps = moments.slice(1).map((end, place) => ({ length: end - (moments[place] ?? end), end }))
  return gaps.reduce((longest, gap) => (gap.length > longest.length ? gap : longest), { length: 0, end: from })
}

const measure = (
  { writes, refused, sessions, registrations }: Clients,
  begun: number,
  promoted: number | undefined,
) => {
  const gap = longestGap(writes, begun)
  return {
    'promoted after (s)': promoted === undefined ? '-' : inSeconds(promoted - begun),
    'longest time without a write (s)': inSeconds(gap.length),
    'writing again after (s)': inSeconds(gap.end - begun),
    writes: writes.length,
    'refused or lost': refused(),
    sessions: sessions.length,
    registrations: registrations.length,
  }
}

/** Clients at work, a fault, the time until they can write again, and the account of what was lost. */
const underLoad = async (label: string, fault: (clients: Clients) => Promise<number | undefined>) => {
  await cluster.whole()
  const before = await countFaultyRows(site.databaseUrl)
  const clients = startClients(site, names, label)
  try {
    await clients.more(200)
    const begun = performance.now()
    const promoted = await fault(clients)
    await clients.more(60)
    await cluster.whole()
    await clients.more(60)
    figures[label] = measure(clients, begun, promoted)
  } finally {
    await clients.stop()
  }
  const losses = await countLosses(site, clients)
  const after = await countFaultyRows(site.databaseUrl)
  const counted = { ...losses, doubledUsers: after.doubledUsers, thefts: after.thefts - before.thefts }
  Object.assign(figures[label] ?? {}, counted)
  expect({ ...counted, surprises: clients.surprises }).toEqual(nothing)
}

describe.each(rounds)('PostgreSQL under Patroni with clients at work, round %i', { timeout: 300_000 }, (round) => {
  it('loses nothing when the primary is frozen, replaced, and wakes up again', async () => {
    await underLoad(`freeze-${round}`, async (clients) => {
      const primary = await cluster.primary()
      await primary.signal('SIGSTOP')
      await cluster.promoted(primary)
      const promoted = performance.now()
      await clients.more(60)
      await pause(timing.ttl * 500)
      await primary.signal('SIGCONT')
      return promoted
    })
  })

  it('loses nothing when the primary and its Patroni are killed', async () => {
    await underLoad(`kill-${round}`, async (clients) => {
      const primary = await cluster.primary()
      await primary.signal('SIGKILL')
      await cluster.promoted(primary)
      const promoted = performance.now()
      await clients.more(60)
      await primary.restart()
      return promoted
    })
  })

  it('loses nothing in a planned switchover', async () => {
    await underLoad(`switchover-${round}`, async () => {
      const [primary, standby] = [await cluster.primary(), await cluster.synchronousStandby()]
      const done = cluster.switchOver(primary, standby)
      await cluster.promoted(primary)
      const promoted = performance.now()
      await done
      return promoted
    })
  })

  it('goes on writing when the synchronous standby is killed', async () => {
    await underLoad(`standby-${round}`, async (clients) => {
      const standby = await cluster.synchronousStandby()
      await standby.signal('SIGKILL')
      await clients.more(120)
      await standby.restart()
      return undefined
    })
  })
})
