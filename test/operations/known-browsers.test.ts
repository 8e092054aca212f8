import { expect, it, onTestFinished } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { goodPassword, startLatchkey } from '../support/latchkey.js'
import { latchkey } from '../support/terminal.js'

it('a known browser that has used up its own attempts is shown, and can try again', async () => {
  const settings = { LOGIN_LIMIT: '2/15m', LOGIN_LIMIT_KNOWN_DEVICES: 'own' }
  const service = await startLatchkey({ settings })
  onTestFinished(service.stop)
  const run = (...args: string[]) => latchkey({ openRooms: (role) => openRoomsForCommand(service.config, role) }, args)
  const tab = await service.signedUp('ada')
  const signIn = async (password = goodPassword) =>
    (await tab.post('/login', { username: 'ada', password }, { address: '192.0.2.55' })).status
  for (const status of [401, 401, 429]) expect(await signIn('wrong-Password-1')).toBe(status)
  const { out } = await run('user', 'show', 'ada')
  expect(out).toContain('Too many wrong passwords in a browser that the user has signed in with before')
  expect(out).toMatch(/rate_limited +login +ada +192\.0\.2\.55/)
  const cleared = await run('limits', 'clear', '--user', 'ada')
  expect(cleared).toMatchObject({ err: '', out: expect.stringContaining('login of known browsers of ada (2 counted)') })
  expect(await signIn()).toBe(200)
})
