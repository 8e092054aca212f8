import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

describe('content', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  it('serves content to signed-in users only', async () => {
    const tab = await latchkey.signedUp('kim')
    const { content } = (await tab.get('/api/content')).body as { content: { slug: string }[] }
    expect(content.map(({ slug }) => slug)).toContain('welcome')
    expect((await tab.get('/api/content/welcome')).body).toMatchObject({ slug: 'welcome', body: expect.any(String) })
    expect((await tab.get('/api/content/nothing')).status).toBe(404)
    const { body } = await latchkey.browser().get('/api/content')
    expect(body).toEqual({ error: 'Not authenticated', message: 'Sign in to continue', code: 'not_authenticated' })
  })
})
