import { operatorClient } from '../../src/http/request-origin.js'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator, type createAuthenticator } from './authenticator.js'
import type { Browser } from './client.js'
import type { Latchkey } from './latchkey.js'

const client = operatorClient('root')

export const idOf = async ({ app }: Latchkey, username: string) => {
  const user = await app.rooms.users.findByLogin(username)
  if (!user) throw new Error(`There is no user ${username}`)
  return user.id
}

/** Adds the user to a group, as the command does. The session gets tokens with the new groups. */
export const joinGroup = async (latchkey: Latchkey, tab: Browser, username: string, group: string) => {
  await latchkey.app.rooms.groups.add(group, client)
  const userId = await idOf(latchkey, username)
  await latchkey.app.rooms.groupChanges.change({ userId, client }, { add: [group] })
  await tab.post('/api/auth/refresh')
}

export const leaveGroup = async ({ app }: Latchkey, userId: string, group: string) => {
  await app.rooms.groupChanges.change({ userId, client }, { remove: [group] })
}

/** Proves the second factor now. Each code works once, so time passes before it. */
const proveSecondFactor = async (
  latchkey: Latchkey,
  tab: Browser,
  authenticator: Pick<ReturnType<typeof createAuthenticator>, 'code'>,
) => {
  latchkey.clock.advance(1 * minutes)
  await tab.post('/api/auth/refresh')
  const proven = await tab.act('/api/auth/step-up', { code: authenticator.code() })
  if (proven.status !== 200 && proven.status !== 204) throw new Error(`The step-up was refused: ${proven.text}`)
}

/** A signed-in user in the group, who has just proven a second factor. */
export const signedUpInGroup = async (latchkey: Latchkey, username: string, group: string) => {
  const tab = await latchkey.signedUp(username)
  const authenticator = await addAuthenticator(tab, latchkey)
  await joinGroup(latchkey, tab, username, group)
  await proveSecondFactor(latchkey, tab, authenticator)
  const prove = () => proveSecondFactor(latchkey, tab, authenticator)
  return { tab, id: await idOf(latchkey, username), username, authenticator, prove }
}
