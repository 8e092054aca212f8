import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { pageNames } from '#contract/pages.js'
import { identityHeaders } from '../../src/access-check/identity-headers.js'
import { forwardedIdentity } from '../../src/access-check/visitor-headers.js'
import { cookieTable, isSessionCookie } from '../../src/http/cookie-table.js'
import { days, hours, minutes, seconds } from '../../src/lib/durations.js'
import { settings } from '../../src/settings/settings.js'

const home = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFile(join(home, path), 'utf8')
const readForward = (name: string) => read(`deploy/forward-auth/${name}`)
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found.toLowerCase())
const sorted = (names: readonly string[]) => [...names].sort()

// A header that a proxy does not know can be forged by any client.
describe('the headers that name the user', () => {
  const nginx = 'deploy/nginx/snippets'
  const expected = sorted(identityHeaders)
  const toVariable = (header: string) => header.replace('x-auth-', '$latchkey_').replaceAll('-', '_')

  it('are set by nginx from the access check, are empty without it, and replace those of the client', async () => {
    const others = ['$latchkey_conditions', '$latchkey_origin', '$latchkey_step_up']
    const variables = sorted([...identityHeaders.map(toVariable), ...others])
    const check = await read(`${nginx}/latchkey-access-check.conf`)
    const taken = [...check.matchAll(/^auth_request_set (\S+) \$upstream_http_(x_auth_\w+);$/gm)]
      .map(([, variable = '', header = '']) => ({ variable, header: header.replaceAll('_', '-') }))
      .filter(({ header }) => !['x-auth-refresh-max-age', 'x-auth-step-up'].includes(header))
    expect(sorted(taken.map(({ header }) => header))).toEqual(expected)
    for (const { variable, header } of taken) expect(variable).toBe(toVariable(header))
    const sent = [
      ...(await read(`${nginx}/latchkey-application.conf`)).matchAll(/^proxy_set_header (X-Auth-\S+) (\$\w+);$/gm),
    ]
    expect(sorted(sent.map(([, header = '']) => header.toLowerCase()))).toEqual(expected)
    for (const [, header = '', variable] of sent) expect(variable).toBe(toVariable(header.toLowerCase()))
    const visitors = await read(`${nginx}/latchkey-visitors.conf`)
    expect(sorted(all(visitors, /^map "" (\$latchkey_\w+) \{ default ""; \}$/gm))).toEqual(variables)
  })

  it('are set by Caddy from the access check', async () => {
    const caddy = await read('deploy/forward-auth/Caddyfile')
    const set = all(caddy, /^\trequest_header (X-Auth-\S+) \{http\.reverse_proxy\.header\.\1\}$/gm)
    expect(sorted(set)).toEqual(expected)
  })

  // What is compared below for the first file counts for the second one too.
  it('are treated by the two files for Caddy alike: they differ in their sites and addresses only', async () => {
    const [one = '', own = ''] = await Promise.all(
      ['', '-own-host'].map(async (name) => {
        const text = await read(`deploy/forward-auth/Caddyfile${name}`)
        return text.slice(text.indexOf('\n\n'), text.indexOf('# Plain HTTP.'))
      }),
    )
    const here = 'location.pathname + location.search + location.hash'
    const withoutOrigin = own
      .replace('\tvars latchkey_origin {$SIGN_IN:https://auth.example.com}\n', '')
      .replaceAll('{vars.latchkey_origin}', '')
      .replace('{vars.latchkey_application}', '{$APPLICATION:127.0.0.1:8080}')
    expect(withoutOrigin.replaceAll('location.href', here)).toBe(one.replaceAll('location.href', here))
    expect(one.split('\n').length).toBeGreaterThan(200)
  })

  it('have lines for the names of other systems, which are off, and the names of a client are removed', async () => {
    const values = { User: 'username', Groups: 'groups', Name: 'name', Email: 'email' }
    const snippet = await read(`${nginx}/latchkey-application.conf`)
    const caddy = await read('deploy/forward-auth/Caddyfile')
    for (const [name, value] of Object.entries(values)) {
      const capital = `${value.slice(0, 1).toUpperCase()}${value.slice(1)}`
      expect(snippet).toContain(`\nproxy_set_header Remote-${name} "";\n`)
      expect(snippet).toContain(`\n# proxy_set_header Remote-${name} $latchkey_${value};\n`)
      expect(caddy).toContain(`\n\t# request_header Remote-${name} {http.reverse_proxy.header.X-Auth-${capital}}\n`)
    }
    expect(caddy).toContain('\n\trequest_header -Remote-*\n')
  })

  it('are all copied by each file for one line, with the cookies and the credentials of the visitor', async () => {
    const copied = sorted([...forwardedIdentity, 'cookie', 'authorization'])
    const caddy = /copy_headers (.*)/.exec(await readForward('latchkey.caddyfile'))?.[1] ?? ''
    expect(sorted(caddy.toLowerCase().split(' '))).toEqual(copied)

    const check = await readForward('latchkey.nginx.conf')
    const taken = [...check.matchAll(/^auth_request_set (\S+) \$upstream_http_(\w+);$/gm)]
    const variables = new Map(taken.map(([, variable = '', header = '']) => [variable, header.replaceAll('_', '-')]))
    const toApplication = await readForward('latchkey.nginx-headers.conf')
    const sent = [...toApplication.matchAll(/^proxy_set_header (X-Auth-\S+|Cookie|Authorization) (\$\w+);$/gm)]
    expect(sorted(sent.map(([, header = '']) => header.toLowerCase()))).toEqual(copied)
    for (const [, header = '', variable = ''] of sent) expect(variables.get(variable)).toBe(header.toLowerCase())

    const [, names = ''] = /^local identity = \{(.*?)\}$/ms.exec(await readForward('latchkey.lua')) ?? []
    expect(sorted(all(names, /'([^']+)'/g))).toEqual(copied)

    const { http } = parse(await readForward('latchkey.traefik.yaml')) as {
      http: { middlewares: { latchkey: { forwardAuth: Record<string, string[]> } } }
    }
    const { authResponseHeaders = [], ...others } = http.middlewares.latchkey.forwardAuth
    expect(sorted(authResponseHeaders.map((name) => name.toLowerCase()))).toEqual(copied)
    expect(Object.keys(others).sort()).toEqual(['address', 'trustForwardHeader'])
  })

  it('are all in a table of the guide', async () => {
    const rows = (await read('docs/forward-auth.md')).match(/^\| `X-Auth-.*$/gm) ?? []
    const named = rows.flatMap((row) => all(row.split('|')[1] ?? '', /`(X-Auth-[\w-]+)`/g))
    expect(sorted(named)).toEqual(sorted(forwardedIdentity))
  })
})

// A cookie that a proxy does not know reaches the application.
describe('our cookies', () => {
  /** A guard in the application needs its own. Those of a host are removed by `forward` itself. */
  const expected = Object.entries(cookieTable)
    .filter(([, { setBy }]) => setBy !== 'guard' && setBy !== 'host')
    .map(([name]) => name)
    // Removed with all that begin so.
    .filter((name) => !/^attempt_(?:browser|mail|returns)$/.test(name))

  it.each(['deploy/forward-auth/Caddyfile', 'deploy/nginx/snippets/latchkey-visitors.conf'])(
    'are removed by %s before the application',
    async (path) => {
      const [, names = ''] = /\((?:\?:)?(access_token\|refresh_token\|.*?)\)\)\[ \\t\]/.exec(await read(path)) ?? []
      const plain = names
        .replaceAll(/\((?:\?:)?__Host-\)\?\((?:\?:)?/g, '')
        .replaceAll(/\((?:\?:)?([a-z|]+)\)_\[[^\]]*\]\++/g, (_, several: string) => several.replaceAll(/\w+/g, '$&_'))
      expect(sorted(plain.split('|'))).toEqual(sorted(expected))
    },
  )

  it('are removed by the file for one line of Caddy, where it keeps what the visitor has sent', async () => {
    const file = await readForward('latchkey.caddyfile')
    const [, names = ''] = /\((access_token\|refresh_token\|__Host-\(.*?\))\)\[ \\t\]/.exec(file) ?? []
    const pattern = new RegExp(`^(?:${names})$`)
    const inProduction = Object.keys(cookieTable).map((name) => {
      const whole = name.endsWith('_') ? `${name}abcdefghijkl` : name
      return isSessionCookie(name) ? name : `__Host-${whole}`
    })
    expect(inProduction.filter((name) => !pattern.test(name))).toEqual([])
    expect(['theme', 'challenge', '__Host-session', 'xaccess_token'].filter((name) => pattern.test(name))).toEqual([])
  })

  it('are all in the table of the specification', async () => {
    const [, section = ''] = /### 5\.1 Cookies\n(.*?)\n### /s.exec(await read('docs/specification.md')) ?? []
    const named = all(section, /^\| `([a-z_-]+)…?` \|/gm)
    expect(sorted(named)).toEqual(sorted(Object.keys(cookieTable)))
  })

  it('live as long as that table says, and have its attributes', async () => {
    const units: Record<string, number> = { second: seconds, minute: minutes, hour: hours, day: days, year: 365 * days }
    const millisecondsIn = (text: string) => {
      const [, count, unit = ''] = /^(\d+) (\w+?)s?\b/.exec(text) ?? []
      return Number(count) * (units[unit] ?? Number.NaN)
    }
    const rows =
      (await read('docs/specification.md')).match(/^\| `[a-z_-]+…?` \|.* \| (?:service|proxy|guard|host) \|$/gm) ?? []
    const documented = rows.map((row) => {
      const [, name = '', , lifetime = '', sameSite, prefix, setBy] = row.split('|').map((cell) => cell.trim())
      const plain = name.replaceAll(/[`…]/g, '')
      return [plain, millisecondsIn(lifetime), sameSite?.replaceAll('`', ''), prefix === 'yes', setBy]
    })
    const actual = Object.entries(cookieTable).map(([name, { lifetime, sameSite, setBy }]) => {
      // The setting may be longer than its default, which is what the table names.
      const shown =
        name === 'trusted_device' ? settings.TRUSTED_DEVICES.read(settings.TRUSTED_DEVICES.fallback) : lifetime
      return [name, typeof shown === 'object' ? shown.atMost : shown, sameSite, !isSessionCookie(name), setBy]
    })
    expect(documented).toEqual(actual)
  })
})

// Beside an application, any of its scripts could do what an administrator's browser can.
describe('the addresses of administrators', () => {
  const isRefused = async (path: string) => (await read(path)).includes('^/api/auth/admin(?:/|$)')
  const ofOneHost = ['deploy/forward-auth/nginx.conf', 'deploy/forward-auth/Caddyfile', 'deploy/nginx/local.conf']

  it('are refused by every proxy file for one host, and passed on where Latchkey has a host of its own', async () => {
    const { stdout } = await promisify(execFile)('git', ['grep', '-lE', 'login\\|register\\|', '--', 'deploy'], {
      cwd: home,
    })
    expect(sorted(stdout.trim().split('\n'))).toEqual(sorted(ofOneHost))
    for (const path of ofOneHost) expect([path, await isRefused(path)]).toEqual([path, true])
    for (const path of [
      'deploy/nginx/latchkey.conf',
      'deploy/haproxy/haproxy.cfg',
      'deploy/forward-auth/Caddyfile-own-host',
    ])
      expect([path, await isRefused(path)]).toEqual([path, false])
  })
})

// A page that a proxy does not know is one of the application's.
describe('our pages', () => {
  it('are all in every list of them in proxy files, examples and guides', async () => {
    const { stdout } = await promisify(execFile)(
      'git',
      ['grep', '-lE', 'login\\|register\\|', '--', 'deploy', 'examples', 'docs', 'README.md', 'packages'],
      { cwd: home },
    )
    const paths = stdout.trim().split('\n')
    expect(paths.length).toBeGreaterThan(4)
    for (const path of paths)
      for (const [, list = ''] of (await read(path)).matchAll(/\((?:\?:)?(login\|.*?)\)/g)) {
        const names = list.split('|').filter((name) => /^[a-z-]+$/.test(name))
        expect(sorted(names), path).toEqual(sorted(pageNames))
      }
  })

  it.each([
    ['docs/forward-auth.md', /^ {4}(\/login {2}.*?)\n\n/ms],
    ['docs/specification.md', /\*\*Pages\*\*: (.*?)\./s],
  ])('are all in %s', async (path, place) => {
    const [, list = ''] = place.exec(await read(path)) ?? []
    expect(sorted(all(list, /(?<=[\s`]|^)\/([a-z-]+)(?=[\s`,]|$)/g))).toEqual(sorted(pageNames))
  })
})
