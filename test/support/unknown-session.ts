import { randomUUID } from 'node:crypto'
import { later } from '../../src/lib/clock.js'
import { minutes } from '../../src/lib/durations.js'
import type { Latchkey } from './latchkey.js'

/** A browser with an access token of a session that is newer than the dump from which the database was restored. */
export const unknownSession = async ({ app, browser, clock }: Latchkey, username: string) => {
  const user = await app.rooms.users.findByLogin(username)
  if (!user) throw new Error(`There is no user ${username}`)
  const iat = Math.floor(later(clock.now(), -1 * minutes).getTime() / 1000)
  const { id: userId, email, name, groups } = user
  const session = { sid: randomUUID(), gen: 0, iat, exp: iat + 900, auth_time: iat, amr: ['pwd'] }
  const tab = browser()
  tab.jar.set(
    'access_token',
    app.rooms.tokens.signAccess({ userId, username: user.username, email, name, groups, ...session }),
  )
  return { tab, userId }
}
