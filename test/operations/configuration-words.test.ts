import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { databaseChecks } from '../../src/commands/doctor/all-checks.js'
import { runCheck } from '../../src/commands/doctor/check.js'
import { secretOne, startWithFiles } from '../support/configuration-files.js'

let files: Awaited<ReturnType<typeof startWithFiles>>
beforeAll(async () => {
  files = await startWithFiles()
})
afterAll(() => files.stop())
beforeEach(() => files.clear())

const web = (name: string, more = '') =>
  `applications: {${JSON.stringify(name)}: {redirect: [https://w.example/cb], allow: everyone${more}}}`
const refused = (sentence: string) => ({ code: 1, out: '', err: expect.stringContaining(sentence) })

it.each([
  ['__proto__: {}\ngroups: {}', 'line 1: the file has the key "__proto__", which is not known'],
  ['{"groups": {}, "__proto__": {"a": 1}}', 'line 1: the file has the key "__proto__", which is not known'],
  ['groups: {family: {__proto__: {a: 1}}}', 'groups.family has the key "__proto__", which is not known'],
  ['{"groups": {"family": {"__proto__": {}}}}', 'groups.family has the key "__proto__", which is not known'],
  [web('Wiki', ', __proto__: {kind: native}'), 'applications.Wiki has the key "__proto__", which is not known'],
  ['{"applications": {"Wiki": {"allow": "everyone", "__proto__": 1}}}', 'applications.Wiki has the key "__proto__"'],
  [web('Wiki', ', constructor: 1'), 'applications.Wiki has the key "constructor", which is not known'],
  [web('Wiki', ', secret: {env: A, __proto__: {}}'), 'applications.Wiki.secret must be a file or a variable'],
  ['settings: {__proto__: open}', 'settings has the key "__proto__", which is not known'],
  ['groups: {family: {members: []}}', 'which is not known. It has no keys: write {}'],
])('the file %j is refused', async (text, sentence) => {
  expect(await files.apply(text)).toMatchObject(refused(sentence))
})

it.each(['__proto__', 'constructor'])('an application called %s works whole', async (name) => {
  const { apply, planned, command } = files
  const first = await apply(web(name), '--json')
  const { secrets } = JSON.parse(first.out)
  expect(Object.entries(secrets)).toEqual([[name, expect.stringMatching(/^[\w-]{43}$/)]])
  expect(await planned(web(name))).toEqual([])
  const exported = (await command(['export'])).out
  expect(await planned(exported)).toEqual([])
  expect(await planned((await command(['export', '--json'])).out)).toEqual([])
  await files.clear()
  expect((await apply(web(name))).out).toMatch(new RegExp(`^${name}: [\\w-]{43}$`, 'm'))
})

it('no name, path or variable reaches the terminal with its control characters', async () => {
  const wild = '\u001b]0;owned\u0007\u009b31m'
  const seen = [
    await files.apply(web(`Wiki${wild}`)),
    await files.apply(web('Wiki', `, secret: {file: ${JSON.stringify(`a${wild}`)}}`)),
    await files.apply(web('Wiki', `, secret: {env: ${JSON.stringify(`A${wild}`)}}`)),
    await files.apply(web('Wiki', `, home: ${JSON.stringify(`https://w.example/${wild}`)}`)),
    await files.command(['apply', join(files.folder, `gone${wild}.yaml`), '--yes']),
    await files.command(['apply', 'a.yaml', `--${wild}`]),
    await files.command([`apply${wild}`]),
    await files.command(['application', 'show', `Wiki${wild}`]),
  ]
  for (const { code, out, err } of seen) {
    expect([1, 2]).toContain(code)
    expect(out).toBe('')
    expect(err).toContain('\\u001b')
    expect(err.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  }
})

it('with --json every answer is JSON of one shape, and says whether it was applied', async () => {
  const path = await files.write(web('Wiki'))
  const run = async (...args: string[]) => {
    const { code, out, err } = await files.command(['apply', path, '--json', ...args])
    return { code, err, json: JSON.parse(out) }
  }
  const changes = [expect.objectContaining({ action: 'add', name: 'Wiki' })]
  expect(await run('--plan')).toEqual({ code: 3, err: '', json: { changes, secrets: {}, applied: false } })
  expect(await run()).toEqual({
    code: 1,
    err: 'Nothing was changed. Add --yes to apply this, or --plan to see it only.\n',
    json: { changes, secrets: {}, applied: false },
  })
  const secrets = { Wiki: expect.any(String) }
  expect(await run('--yes')).toEqual({ code: 0, err: '', json: { changes, secrets, applied: true } })
  expect(await run()).toEqual({ code: 0, err: '', json: { changes: [], secrets: {}, applied: false } })
})

it('--prune says it in words if more than half of what the file owned would go', async () => {
  const of = (...names: string[]) => `groups: {${names.map((name) => `${name}: {}`).join()}}`
  const { apply, planText, command, write } = files
  await apply(of('a', 'b', 'c', 'd'))
  expect(await planText(of('a', 'b'), '--prune')).not.toContain('Careful')
  expect(await planText(of('a'), '--prune')).toContain('removes 3 of the 4 things that latchkey.yaml has set')
  expect(await planText(of('a'))).not.toContain('Careful')
  const warning =
    'Careful: this removes everything that latchkey.yaml has set. Is this the whole file, and the right one?'
  expect(await planText(of('z'), '--prune')).toContain(warning)
  const asked = await command(['apply', await write(of('z')), '--prune'], { typed: ['no\n'] })
  expect(asked.err).toContain(warning)
})

it('the doctor names what is wrong with CONFIGURATION_FILE, changes nothing, and names applications without a secret', async () => {
  const path = await files.write(web('Wiki', ', secret: {env: WIKI}'))
  const config = { ...files.latchkey.config, configurationFile: path }
  const diagnose = async (environment: Record<string, string>) => {
    const { checks, close } = databaseChecks(config, environment)
    const named = checks.filter(({ name }) => ['configuration file', 'application secrets'].includes(name))
    const lines = await Promise.all(named.map((check) => runCheck(check)))
    await close?.()
    return Object.fromEntries(lines.map(({ name, level, says }) => [name, `${level}: ${says}`]))
  }
  expect(await diagnose({})).toEqual({
    'application secrets': 'ok: every application that needs a secret has one',
    'configuration file': `error: it cannot be applied: ${path}, line 1: applications.Wiki: the variable WIKI is not set`,
  })
  const found = await diagnose({ WIKI: secretOne })
  expect(found['configuration file']).toBe(`ok: ${path} would change 1 thing at the next start or SIGHUP`)
  expect(await files.latchkey.sql.query('select 1 from applications')).toEqual([])
  await writeFile(path, web('Wiki', ', home: "ftp://x"'))
  expect((await diagnose({}))['configuration file']).toContain('error: it cannot be applied: ')
  await files.apply(web('Wiki'))
  await files.latchkey.sql.query('delete from application_secrets')
  expect(await diagnose({})).toEqual({
    'application secrets':
      'warning: Wiki: no secret, so nobody can sign in there; `latchkey application secret add APPLICATION` makes one',
    'configuration file': `ok: ${path} is applied`,
  })
})
