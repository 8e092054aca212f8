import { testPostgres } from '../../support/databases.js'
import { password, type Site } from '../../support/site/site.js'
import { until } from '../../support/until.js'
import type { Clients } from './clients.js'

const inTurns = async <Item>(items: Item[], work: (item: Item) => Promise<boolean>, width = 4) => {
  let failed = 0
  const rest = [...items]
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) if (!(await work(item))) failed += 1
  }
  await Promise.all(Array.from({ length: width }, worker))
  return failed
}

/** Holds the service to what its clients were promised, and counts what it did not keep. */
export const countLosses = async (site: Site, { sessions, registrations, confirm }: Clients) => {
  const lostSessions = await inTurns(sessions, async (visitor) => (await visitor.refresh()).status === 200)
  await until(
    'every registration has its mail and is confirmed',
    async () => {
      await inTurns(registrations, async (each) => confirm(each).then(() => true))
      return registrations.every(({ state }) => state === 'confirmed')
    },
    60_000,
  ).catch(() => undefined)
  const lostRegistrations = await inTurns(registrations, async ({ username }) => {
    return (await site.visitor().post('/login', { username, password })).status === 200
  })
  return { lostSessions, lostRegistrations }
}

/** Kept in the database: rows that must not be there. */
export const countFaultyRows = async (databaseUrl: string) => {
  const database = testPostgres(databaseUrl)
  try {
    const [row] = await database.query<{ doubledUsers: number; thefts: number }>(`
      select (select count(*) - count(distinct email_key) from users)
           + (select count(*) - count(distinct username_key) from users) as "doubledUsers",
             (select count(*) from events where kind = 'refresh_theft') as thefts`)
    return row ?? { doubledUsers: 0, thefts: 0 }
  } finally {
    await database.close()
  }
}
