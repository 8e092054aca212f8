import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBrowser } from '../support/client.js'
import { type FreshDatabase, freshPostgres } from '../support/databases.js'
import { goodPassword } from '../support/latchkey.js'
import { runLatchkey } from '../support/program.js'
import { createIssuer } from '../support/providers/issuer.js'
import { answerOf, comeBack } from '../support/providers/test-providers.js'
import { freePort } from '../support/servers/server.js'

const fileAt = (path: string) => fileURLToPath(new URL(path, import.meta.url))
/** Not bundled: the table is a module of its own, to which an entry can be added. */
const program = fileAt('../../dist/modules/main.js')
const oneMoreEntry = pathToFileURL(fileAt('../support/providers/third-provider.mjs')).href

// One more entry in the table is all that an OpenID Connect provider takes: every expectation below follows from it.
describe('the program with a third provider in its table', () => {
  let folder: string
  let database: FreshDatabase
  let issuer: Awaited<ReturnType<typeof createIssuer>>
  let settings: Record<string, string>
  let metricsPort: number
  let service: ReturnType<typeof runLatchkey>
  let url: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'latchkey-third-'))
    database = await freshPostgres()
    issuer = await createIssuer()
    metricsPort = await freePort()
    settings = {
      NODE_ENV: 'test',
      NODE_OPTIONS: `--import=${oneMoreEntry}`,
      DATABASE_URL: database.url,
      PROVIDER_C_ISSUER: issuer.issuer,
      PROVIDER_C_CLIENT_ID: issuer.clientId,
      PROVIDER_C_CLIENT_SECRET: issuer.clientSecret,
      PROVIDER_C_NAME: 'Our own',
    }
    service = runLatchkey(folder, { ...settings, METRICS_PORT: String(metricsPort) }, ['serve'], program)
    url = await service.ready()
  })
  afterAll(async () => {
    await service.stop()
    await issuer.close()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })

  const command = async (...args: string[]) => {
    const { output, exited } = runLatchkey(folder, settings, args, program)
    const code = await exited
    return { code, ...output }
  }
  const importUsers = async (users: object[]) => {
    const file = join(folder, 'users.jsonl')
    await writeFile(file, users.map((user) => JSON.stringify(user)).join('\n'))
    return command('user', 'import', file)
  }
  const begin = async () => {
    const browser = createBrowser(url)
    const { headers } = await browser.get('/api/auth/provider-c')
    return { browser, location: new URL(headers.get('location') ?? '') }
  }
  const signIn = async () => {
    const { browser, location } = await begin()
    return { browser, answer: await comeBack(browser, await answerOf(location.href)) }
  }

  it('has a button, and signs in by its own address and callback', async () => {
    const page = await (await fetch(`${url}/login`)).text()
    expect(page).toContain('{"id":"provider_c","name":"Our own","path":"/api/auth/provider-c"}')
    const { location } = await begin()
    expect(location.searchParams.get('redirect_uri')).toMatch(
      /^http:\/\/localhost:\d+\/api\/auth\/provider-c\/callback$/,
    )
    const { browser, answer } = await signIn()
    expect(answer.location).toBe('/dashboard')
    const { body } = await browser.get('/api/auth/account')
    expect(body.user).toMatchObject({ provider: 'provider_c', providers: ['provider_c'] })
  })

  it('fails as the others do', async () => {
    issuer.become({ email_verified: false })
    expect((await signIn()).answer.location).toBe('/login?error=provider_c_auth_failed&reason=no_email')
    issuer.become({})
  })

  it('is linked and removed from the account page', async () => {
    issuer.become({ sub: 'subject-2', email: 'grace@example.com' })
    const password_hash = await bcrypt.hash(goodPassword, 10)
    expect((await importUsers([{ email: 'grace@example.com', password_hash }])).code).toBe(0)
    const browser = createBrowser(url)
    await browser.post('/login', { username: 'grace', password: goodPassword })
    const begun = await browser.act('/api/auth/providers/provider-c/link', {})
    const { location } = await comeBack(browser, await answerOf(String(begun.body.location)))
    expect(location).toBe('/dashboard?linking=provider_c')
    expect((await browser.act('/api/auth/providers/provider-c/link/finish', {})).status).toBe(204)
    expect((await browser.get('/api/auth/account')).body.user).toMatchObject({ providers: ['provider_c'] })
    expect((await browser.remove('/api/auth/providers/provider-c')).status).toBe(204)
    expect((await browser.get('/api/auth/account')).body.user).toMatchObject({ providers: [] })
  })

  it('is imported, exported and listed', async () => {
    const edsger = { email: 'edsger@example.com', provider: 'provider_c', provider_c_id: 'subject-3' }
    expect((await importUsers([edsger])).code).toBe(0)
    const [exported, listed, help] = await Promise.all([
      command('user', 'export', '--format', 'csv'),
      command('user', 'list'),
      command('user', 'import', '--help'),
    ])
    expect(exported.stdout).toMatch(
      /^id,.*,provider,provider_a_id,provider_b_id,provider_c_id,created_at,disabled\r?\n/,
    )
    expect(exported.stdout).toMatch(/,edsger@example\.com,.*,provider_c,,,subject-3,/)
    expect(listed.stdout).toMatch(/edsger@example\.com +provider C/)
    expect(help.stdout).toContain('provider_c_id')
  })

  it('is looked at by doctor', async () => {
    const { stdout } = await command('doctor')
    expect(stdout).toMatch(/^ok +provider C +\S+ publishes what is needed$/m)
    expect(stdout).not.toContain(issuer.clientSecret)
  })

  it('is counted and documented', async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    expect(metrics).toMatch(/^latchkey_sign_ins_total\{way="provider_c"\} 1$/m)
    const { body } = await createBrowser(url).get('/api/openapi.json')
    expect(body.paths).toMatchObject({ '/api/auth/provider-c': {}, '/api/auth/provider-c/callback': {} })
  })

  it('has its settings in the guide and in the example file', async () => {
    const guide = pathToFileURL(fileAt('../../dist/modules/config/guide.js')).href
    const script = `import { configurationGuide, environmentExample } from '${guide}'
      process.stdout.write(configurationGuide() + environmentExample())`
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...['--import', oneMoreEntry],
      ...['--input-type=module', '--eval', script],
    ])
    expect(stdout).toContain('| `PROVIDER_C_ISSUER` | `https://id.example.com` | OpenID Connect issuer')
    expect(stdout).toContain('`PUBLIC_URL/api/auth/provider-c/callback`')
    expect(stdout).toContain('#PROVIDER_C_NAME=Example\n')
  })
})
