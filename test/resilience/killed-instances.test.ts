import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { inLongRun } from '../support/long-run.js'
import type { Visitor } from '../support/site/https-client.js'
import { addPeople, startSite } from '../support/site/site.js'
import { until } from '../support/until.js'
import { pauseMs } from './load.js'

const names = Array.from({ length: 6 }, (_, index) => `person-${index}`)

/** docs/reliability.md says how many were made by hand; one is enough to notice a mistake. */
const rounds = Number(process.env.KILL_ROUNDS ?? inLongRun(20, 1))

it(
  `an instance killed in the middle of rotations leaves the client with a token that works, ${rounds} times`,
  async () => {
    const site = await startSite({ instances: 2 })
    await addPeople(site.databaseUrl, names)
    const people = await Promise.all(names.map((name) => site.signedIn(name)))
    let going = true
    const rotate = async (person: Visitor) => {
      while (going) {
        await person.refresh().catch(() => undefined)
        await pause(Math.random() * 2 * pauseMs)
      }
    }
    const work = people.map(rotate)
    for (let round = 0; round < rounds; round += 1) {
      await pause(Math.random() * 150)
      const instance = site.instances[round % 2]
      instance?.signal('SIGKILL')
      await until('it is gone', () => !instance?.alive())
      await instance?.again()
    }
    going = false
    await Promise.all(work)
    await until('both instances serve', async () => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => site.visitor().get('/health')))
      return answers.every(({ status }) => status === 200)
    })
    const statuses = await Promise.all(people.map(async (person) => (await person.refresh()).status))
    expect(statuses).toEqual(people.map(() => 200))
    expect(people.filter(({ jar }) => !jar.has('refresh_token'))).toEqual([])
    await site.stop()
  },
  240_000 + rounds * 8_000,
)
