import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type BuildOptions, build } from 'esbuild'
import { describe, expect, it, onTestFinished } from 'vitest'
import { typeOf } from '../../scripts/contract-types.mjs'
import { readmesWithExports } from '../../scripts/package-exports.mjs'
import { profileFieldsFile } from '../support/profile-fields.js'
import { read } from '../support/project.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const home = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

it('a bundle for browsers fails with a reason if it has the guard for Next, and one for servers and the edge does not', async () => {
  const bundle = (options: BuildOptions) =>
    build({
      stdin: { contents: "import '@latchkey/verify/next'", resolveDir: home },
      ...{ bundle: true, write: false, logLevel: 'silent', format: 'esm', external: ['next/*'], ...options },
    })
  await expect(bundle({ platform: 'browser' })).rejects.toThrow('server only - @latchkey/verify/next')
  await bundle({ platform: 'browser', conditions: ['edge-light'] })
  await bundle({ platform: 'node' })
})

/** Which body each call sends. */
const bodies = {
  login: 'login',
  register: 'register',
  verifyEmail: 'verify-email',
  checkVerification: 'verify-email/check',
  resetPassword: 'reset-password',
  checkReset: 'reset-password/check',
  confirmReset: 'reset-password/confirm',
  passwordStrength: 'password-strength',
  changePassword: 'change-password',
  stepUp: 'step-up',
  passkeyLogin: 'passkey-login',
  mailLogin: 'mail-login',
  confirmMailLogin: 'mail-login/confirm',
  addPasskey: 'passkeys',
}

type Document = { paths: Record<string, { post: Operation }>; components: { schemas: Record<string, object> } }
type Operation = { requestBody: { content: { 'application/json': { schema: object } } } }

/** A line for each call that compiles only if the service takes its body. */
const bodyChecks = async () => {
  const { paths, components } = JSON.parse(await read('docs/openapi.json')) as Document
  const resolved = (_: string, value: { $ref?: string } | null) =>
    value?.$ref ? { ...components.schemas[value.$ref.split('/').at(-1) ?? ''], title: undefined } : value
  return Object.entries(bodies).map(([call, path]) => {
    const written = paths[`/api/auth/${path}`]?.post.requestBody.content['application/json'].schema ?? {}
    // The document is that of USERNAMES=chosen. The type is also for services that make the username themselves.
    const schema = call === 'register' ? { ...written, required: ['email', 'password'] } : written
    return `export const body_${call}: NonNullable<Parameters<Published.Client['${call}']>[0]> extends ${typeOf(JSON.parse(JSON.stringify(schema), resolved))} ? true : false = true`
  })
}

/** What the compiler says about files that use the published packages. */
const compiled = async (texts: string[], options: object) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-types-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'node_modules/@latchkey'), { recursive: true })
  for (const name of ['client', 'service', 'testing', 'verify'])
    await symlink(join(home, 'packages', name), join(folder, 'node_modules/@latchkey', name))
  await Promise.all(texts.map((text, at) => writeFile(join(folder, `file-${at}.ts`), text)))
  const compilerOptions = {
    ...{ target: 'ES2022', module: 'NodeNext', lib: ['ES2023', 'DOM', 'DOM.Iterable'], types: [] },
    ...{ strict: true, noEmit: true, ...options },
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const tsc = join(home, 'node_modules/.bin/tsc')
  const { stdout } = await run(tsc, ['-p', folder, '--pretty', 'false']).catch(({ stdout }) => ({ stdout }))
  return stdout as string
}

it.each([
  ['Next.js', 'next', 6],
  ['SvelteKit, Nuxt and Astro', 'sveltekit', 1],
])(
  'the README of the verifier shows the files of its example for %s, which the long run builds',
  async (heading, example, least) => {
    const [, section = ''] = (await read('packages/verify/README.md')).split(`\n## ${heading}\n`)
    const blocks = [...(section.split('\n## ')[0] ?? '').matchAll(/```tsx?\n(\/\/ (\S+)\n.*?)```/gs)]
    expect(blocks.length).toBeGreaterThanOrEqual(least)
    for (const [, text, path] of blocks) expect(text, path).toBe(await read(`examples/${example}/${path}`))
  },
)

/** Without files that begin with their name: they use other packages too. */
const examplesIn = async (guide: string) =>
  [...(await read(guide)).matchAll(/```ts\n(?!\/\/ )(.*?)```/gs)].map(([, text]) => text)

describe('the types of the packages', () => {
  it('are listed in each README with everything that the package exports: npm run docs', async () => {
    for (const [path, text] of Object.entries(await readmesWithExports())) expect(await read(path), path).toBe(text)
  })

  it('fit to every example in the READMEs of the client, of the service API and of the tests, and need no other types', async () => {
    const examples = await examplesIn('packages/client/README.md')
    expect(examples.length).toBeGreaterThan(3)
    const prelude = `import { createClient } from '@latchkey/client'\nconst client = createClient()\n`
    const texts = examples.map((text = '') => (text.startsWith('import') ? text : prelude + text))
    texts.push(await read('docs/samples/own-pages.ts'))
    const ofPrograms = await examplesIn('packages/service/README.md')
    expect(ofPrograms.length).toBeGreaterThan(2)
    const program = 'declare const process: { env: Record<string, string | undefined> }\n'
    texts.push(...ofPrograms.map((text = '') => program + text))
    texts.push(...(await examplesIn('packages/testing/README.md')).map((text = '') => text))
    texts.push(`import { createClient } from '@latchkey/client'
      import type { TestSession } from '@latchkey/testing'
      export const clientOf = ({ fetch }: TestSession) => createClient({ baseUrl: 'http://localhost:3000', fetch })`)
    expect(await compiled(texts, { skipDefaultLibCheck: true })).toBe('')
  })

  it('of the verifier and the client fit to every example in their READMEs, with and without strict', async () => {
    const examples = await examplesIn('packages/verify/README.md')
    expect(examples.length).toBeGreaterThan(6)
    const program = `declare const app: { use(...parts: unknown[]): void; get(path: string, handle: (request: object, response: { send(text: string): void; json(body: unknown): void }) => void): void }
      declare const serviceKey: string
      declare const render: (request: Request, auth: unknown) => Promise<Response>
      declare const process: { env: Record<string, string | undefined> }
      type NodeRequest = { method?: string; url?: string; headers: Record<string, string | string[] | undefined> } & AsyncIterable<unknown>
      type NodeResponse = { statusCode: number; getHeader(name: string): string | undefined; setHeader(name: string, value: string | string[]): void; writeHead(status: number): void; end(text: string): void }
      declare const createServer: (handle: (request: NodeRequest, response: NodeResponse) => void) => { listen(port: number): void }\n`
    const prelude = `import { createVerifier } from '@latchkey/verify'
      declare const request: Request
      const verifier = createVerifier({ publicUrl: 'https://auth.example.com', jwks: true })\n`
    // The types of Node would take longer than all of this.
    const texts = examples
      .map((text = '') => text.replace("import { createServer } from 'node:http'\n", ''))
      .map((text) => program + (text.startsWith('import') ? '' : prelude) + text)
    // What Next asks of a proxy and of a route handler.
    texts.push(`import { createLatchkey } from '@latchkey/verify/next'
      const latchkey = createLatchkey(() => ({ publicUrl: 'https://auth.example.com', jwks: true }))
      type Context = { params: Promise<{ id: string }> }
      type Handler = (request: Request & { nextUrl: URL }, context: Context) => Promise<Response>
      export const proxy: (request: Request & { nextUrl: URL }) => Promise<Response> = latchkey.proxy({ optional: true })
      export const GET: Handler = latchkey.route((request, { user }) => Response.json([request.url, user.id]))
      export const PUT: Handler = latchkey.route(async (_, auth, { params }: Context) => Response.json((await params).id))
      export const name = async () => (await latchkey.auth())?.user.username
      export const group = async () => (await latchkey.requireAuth({ group: 'admins', factors: 2 })).groups[0]`)
    const ofClient = `import { createClient } from '@latchkey/client'\nconst client = createClient()\n`
    for (const text of await examplesIn('packages/client/README.md'))
      texts.push((text?.startsWith('import') ? '' : ofClient) + text)
    const found = await Promise.all(
      [true, false].map((strict) => compiled(texts, { skipDefaultLibCheck: true, strict })),
    )
    expect(found).toEqual(['', ''])
  })

  it('take the types that latchkey fields types writes', async () => {
    const { path, remove } = await profileFieldsFile()
    onTestFinished(remove)
    const written = await latchkey(noStore, ['fields', 'types'], { environment: { PROFILE_FIELDS_FILE: path } })
    const use = `
      import { createClient } from '@latchkey/client'
      import { createServiceClient } from '@latchkey/service'
      const client = createClient()
      const person = { username: 'ada', email: 'ada@example.com', password: 'x' }
      const given: RegistrationFields = { department: 'sales', newsletter: true }
      const changes: ProfileFieldChanges = { department: 'support', nickname: null }
      void client.register({ ...person, fields: given })
      void client.changeAccount({ fields: changes })
      void client.secondFactor({ fields: changes })
      const service = createServiceClient({ url: 'https://example.com', key: 'x' })
      const operatorChanges: OperatorFieldChanges = { department: null, staffnumber: '7' }
      void service.users.changeFields('id', { fields: operatorChanges })
      const account = await client.account()
      if (!account.refused) {
        const { department, staffnumber } = account.value.user.fields as ProfileFields
        const shown: ['sales' | 'support' | undefined, string | undefined] = [department, staffnumber]
        void shown
      }
      // @ts-expect-error A registration without a required field.
      export const lacking: RegistrationFields = { newsletter: true }
      // @ts-expect-error No option of the choice.
      export const unknown: ProfileFieldChanges = { department: 'x' }
      // @ts-expect-error What is required cannot be removed.
      export const removed: ProfileFieldChanges = { department: null }
      // @ts-expect-error Only administrators edit it.
      export const forbidden: ProfileFieldChanges = { staffnumber: '7' }`
    expect(await compiled([written.out + use], { skipDefaultLibCheck: true, exactOptionalPropertyTypes: true })).toBe(
      '',
    )
  })

  it('are those of the contract and of the API document, and refuse a body that the service would', async () => {
    const contract = ['Account', 'AccountEvent', 'Caller', 'Passkey', 'Session', 'SignedIn', 'Strength']
    const ofPrograms = ['ServiceUser', 'Revocations']
    const ofRequests = [
      'ServiceGroup',
      'ServiceInvitation',
      'ServiceInvite',
      'ServiceFieldsPatch',
      'ServiceGroupsPatch',
      'ServiceUsers',
    ]
    const same = `import type * as Published from '@latchkey/client'
      import type * as Program from '@latchkey/service'
      import type * as Requests from '${home}src/contract/service.ts'
      import type * as Links from '${home}src/contract/mailed-links.ts'
      import type * as Webhooks from '${home}src/contract/webhooks.ts'
      import type * as Source from '${home}src/contract/schemas.ts'
      type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
      ${(await bodyChecks()).join('\n')}
      ${contract.map((name) => `export const same${name}: Same<Published.${name}, Source.${name}> = true`).join('\n')}
      ${ofPrograms.map((name) => `export const same${name}: Same<Program.${name}, Source.${name}> = true`).join('\n')}
      ${ofRequests.map((name) => `export const same${name}: Same<Program.${name}, Requests.${name}> = true`).join('\n')}
      export const sameLinkState: Same<Published.LinkState, Links.LinkState> = true
      export const sameWebhookBody: Same<Program.WebhookBody, Webhooks.WebhookBody> = true`
    const wrong = `import { createClient } from '@latchkey/client'\nvoid createClient().login({ username: 1 })`
    const found = await compiled([same, wrong], { skipLibCheck: true, allowImportingTsExtensions: true })
    const errors = found.split('\n').filter((line) => line.includes(': error '))
    expect(errors).toEqual([expect.stringMatching(/file-1\.ts\(\S+ error TS2322: /)])
  })
})
