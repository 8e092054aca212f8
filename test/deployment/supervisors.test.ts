import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { seconds } from '../../src/lib/durations.js'
import { shutdownBudget } from '../../src/service/serving.js'
import { loadConfig } from '../../src/settings/config.js'
import { read } from '../support/project.js'

const run = promisify(execFile)
const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

/** The longest shutdown with the DRAIN_DELAY of a file, or the default. */
const budgetWith = (drainDelay?: string) =>
  shutdownBudget(
    loadConfig({
      NODE_ENV: 'test',
      DATABASE_URL: 'postgres://database/latchkey',
      ...(drainDelay && { DRAIN_DELAY: drainDelay }),
    }),
  )

const withoutComments = (text: string) => text.replaceAll(/^\s*#.*$/gm, '')
const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1])

describe('a supervisor waits longer than the longest shutdown', () => {
  it('in compose, systemd and Kubernetes, with servers', async () => {
    const compose = parse(await read('deploy/compose.servers.yaml'), { merge: true }).services['latchkey-1']
    const unit = await read('deploy/systemd/latchkey@.service')
    const [settings, deployment] = parseAllDocuments(await read('deploy/kubernetes/servers.yaml')).map((each) =>
      each.toJS(),
    )
    const waits = [
      { grace: Number.parseInt(compose.stop_grace_period, 10), budget: budgetWith(compose.environment.DRAIN_DELAY) },
      { grace: numberIn(unit, /^TimeoutStopSec=(\d+)$/m), budget: budgetWith() },
      {
        grace: deployment.spec.template.spec.terminationGracePeriodSeconds,
        budget: budgetWith(settings.data.DRAIN_DELAY),
      },
    ]
    for (const { grace, budget } of waits) expect(grace * seconds).toBeGreaterThanOrEqual(budget + 5 * seconds)
  })

  it('in the short forms, and Docker waits long enough by itself', async () => {
    const budget = shutdownBudget(loadConfig({ NODE_ENV: 'test' }))
    const { latchkey } = parse(await read('deploy/compose.yaml')).services
    const unit = await read('deploy/systemd/latchkey.service')
    const [, deployment] = parseAllDocuments(await read('deploy/kubernetes/latchkey.yaml')).map((each) => each.toJS())
    const waits = [
      Number.parseInt(latchkey.stop_grace_period, 10),
      numberIn(unit, /^TimeoutStopSec=(\d+)$/m),
      deployment.spec.template.spec.terminationGracePeriodSeconds,
    ]
    for (const grace of waits) expect(grace * seconds).toBeGreaterThanOrEqual(budget + 5 * seconds)
    expect(budget).toBeLessThan(10 * seconds)
    expect(await read('docs/deployment.md')).toContain('twice `DRAIN_DELAY` plus 7.5 seconds')
    expect(budget).toBe(2 * seconds + 7.5 * seconds)
  })

  it('and the guide says how long that is', async () => {
    const guide = await read('docs/deployment.md')
    expect(guide).toContain('twice `DRAIN_DELAY` plus 15 seconds')
    expect(budgetWith('2s')).toBe(19 * seconds)
    expect(numberIn(guide, /at least (\d+) seconds before it kills/) * seconds).toBeGreaterThan(budgetWith())
  })
})

describe('the shipped files agree with each other', () => {
  it('about the settings of providers, which exist', async () => {
    const wanted = ['A', 'B'].map((id) => `PROVIDER_${id}_CLIENT_ID`)
    for (const file of ['compose.providers.yaml', 'kubernetes/servers.yaml']) {
      const text = await read(`deploy/${file}`)
      expect([...new Set(text.match(/PROVIDER_[AB]_\w+/g))].sort(), file).toEqual(wanted)
      for (const id of ['a', 'b']) expect(text, file).toContain(`provider_${id}_client_secret`)
    }
    const guide = await read('docs/configuration.md')
    for (const name of wanted) expect(guide).toContain(`\`${name}\``)
  })

  it('about the folder in which each secret is a file', async () => {
    const compose = parse(await read('deploy/compose.servers.yaml'), { merge: true }).services
    expect(
      [compose['latchkey-1'], compose.migrate, compose.owner].map(({ environment }) => environment.SECRETS_DIR),
    ).toEqual(['/run/secrets', '/run/secrets', '/run/secrets'])
    const files = ['servers', 'migrate'].map((name) => read(`deploy/kubernetes/${name}.yaml`))
    for (const text of await Promise.all(files)) {
      const [, mounted] = /mountPath: (\/run\/secrets\/latchkey)/.exec(text) ?? []
      expect(text).toMatch(new RegExp(`SECRETS_DIR(?:: |, value: )${mounted}`))
    }
  })

  it('about the ports of the instances', async () => {
    const guide = await read('deploy/README.md')
    const units = [...guide.matchAll(/latchkey@(\d+)/g)].map(([, port]) => port)
    expect(new Set(units)).toEqual(new Set(['3001', '3002']))
    const proxies = ['forward-auth/Caddyfile', 'forward-auth/Caddyfile-own-host', 'haproxy/haproxy.cfg']
    for (const file of ['nginx/snippets/latchkey-instances.conf', ...proxies]) {
      const ports = withoutComments(await read(`deploy/${file}`)).match(/(?<=127\.0\.0\.1:)300\d/g) ?? []
      expect(new Set(ports), file).toEqual(new Set(units))
    }
  })

  it('that traffic is decided by /health/ready and restarts by /health/live, and never by /health', async () => {
    // Alerts name the address to leave its answers out.
    const files = (await readdir(path('deploy'), { recursive: true, withFileTypes: true })).filter(
      (each) => each.isFile() && !each.parentPath.endsWith('prometheus') && !each.name.endsWith('.md'),
    )
    const named = await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const text = await read(join(parentPath, name).slice(path('.').length))
        return { name, asks: withoutComments(text).match(/\/health[\w/]*/g) ?? [] }
      }),
    )
    const asking = named.filter(({ asks }) => asks.length > 0)
    expect(asking.map(({ name }) => name).sort()).toEqual([
      'Caddyfile',
      'Caddyfile-own-host',
      'Dockerfile',
      'compose.servers.yaml',
      'compose.yaml',
      'haproxy.cfg',
      'latchkey.yaml',
      'servers.yaml',
    ])
    for (const { name, asks } of asking)
      expect([name, asks.filter((each) => each !== '/health/ready' && each !== '/health/live')]).toEqual([name, []])
  })

  it('that the logs of nginx in compose go to standard output', async () => {
    const { nginx } = parse(await read('deploy/compose.servers.yaml'), { merge: true }).services
    const command = nginx.command.join(' ')
    const site = nginx.volumes
      .map((each: string) => /^\.\/([\w-]+\/[\w-]+\.conf):.*default\.conf/.exec(each)?.[1])
      .find(Boolean)
    const logs = (await read(`deploy/${site}`)).match(/\/var\/log\/nginx\/[\w.]+/g) ?? []
    expect(logs.length).toBeGreaterThan(0)
    for (const log of new Set(logs)) expect(command).toMatch(new RegExp(`ln -sf /dev/std(out|err) ${log}`))
  })

  it('that a scraper reaches the metrics of a container', async () => {
    expect(await read('deploy/Dockerfile')).toMatch(/^ENV .*METRICS_HOST=0\.0\.0\.0/m)
  })
})

describe('make-secrets.sh', () => {
  it('leaves the certificate readable for nginx and everything closed to other users, as root or not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-secrets-'))
    try {
      await cp(path('deploy/make-secrets.sh'), join(folder, 'make-secrets.sh'))
      const { stdout } = await run('bash', [join(folder, 'make-secrets.sh'), 'smtp://mail.example.com:587'])
      expect(stdout).toContain('install -m 644 fullchain.pem privkey.pem')
      const mode = async (name: string) => (await stat(join(folder, name))).mode & 0o777
      // No other user gets into the outer folder; nginx is given the inner one alone, without the right to override modes.
      expect([await mode('secrets'), await mode('secrets/tls')]).toEqual([0o700, 0o755])
      const files = (await readdir(join(folder, 'secrets'))).filter((name) => name !== 'tls')
      expect(files).toHaveLength(8)
      for (const name of files) expect(await mode(`secrets/${name}`), name).toBe(0o644)
      // Without an argument, which `ps` would show, it reads the address.
      const again = `printf '%s\\n' "$1" | bash make-secrets.sh`
      await run('bash', ['-o', 'pipefail', '-c', again, 'bash', 'smtp://mail.example.com:587'], { cwd: folder })
      const other = run('bash', ['-o', 'pipefail', '-c', again, 'bash', 'smtp://other.example.com'], { cwd: folder })
      await expect(other).rejects.toThrow('names another mail server')
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('needs no mail server, and makes all secrets that the file with servers names', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'latchkey-secrets-'))
    try {
      await cp(path('deploy/make-secrets.sh'), join(folder, 'make-secrets.sh'))
      await run('bash', ['-c', 'bash make-secrets.sh </dev/null'], { cwd: folder })
      const made = await readdir(join(folder, 'secrets'))
      expect(made).not.toContain('smtp_url')
      const { secrets } = parse(await read('deploy/compose.servers.yaml'), { merge: true })
      expect(made).toEqual(expect.arrayContaining(Object.keys(secrets)))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
