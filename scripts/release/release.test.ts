import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { read } from '../../test/support/project.js'
import { external } from '../external-packages.mjs'
import { auditPackages, judgeAudit } from './audit.mjs'
import { notesFor, previewVersion } from './changelog.mjs'
import { refuseUnpinned } from './image.mjs'
import { withoutBuildContainer } from './image-archive.mjs'
import {
  packedDescription,
  packedDockerfile,
  packedPackageReadme,
  productionOnly,
  withNamedPages,
  withoutUnused,
  withPackedLinks,
} from './packed-program.mjs'
import { finishedSbom, importedPackages } from './sbom.mjs'

const changelog = (unreleased: string) => `# Changelog\n\nFor operators.\n\n## Unreleased\n\n${unreleased}
## 0.2.0 (2026-11-17)\n\n- **New**: something\n\n## 0.1.0\n\nThe first.\n`

describe('the notes of a release', () => {
  it('are what the changelog says of its version', () => {
    expect(notesFor(changelog(''), '0.2.0', { isPreview: false })).toBe('- **New**: something')
  })

  it('are refused for a version that the changelog does not know, and while there are entries without a version', () => {
    expect(() => notesFor(changelog(''), '0.3.0', { isPreview: false })).toThrow('has no section "## 0.3.0"')
    expect(() => notesFor(changelog('- more\n'), '0.2.0', { isPreview: false })).toThrow('entries under "Unreleased"')
  })

  it('of a preview are the entries without a version, and it has a version of its own', () => {
    expect(notesFor(changelog('- more\n'), '0.2.0', { isPreview: true })).toBe('- more')
    expect(() => notesFor(changelog(''), '0.2.0', { isPreview: true })).toThrow('nothing under "Unreleased"')
    expect(previewVersion('0.2.0', new Date('2026-11-17T12:34:56Z'))).toBe('0.2.1-preview.20261117123456')
  })
})

/** A registry that knows one package, and one weakness of it if it is told so. */
const startRegistry = async (advisories: object | undefined) => {
  const server: Server = createServer((request, response) => {
    request.resume()
    const versions = { '1.0.0': { name: 'left', version: '1.0.0' }, '2.0.0': { name: 'left', version: '2.0.0' } }
    if (request.method === 'GET') return response.end(JSON.stringify({ name: 'left', versions }))
    if (!advisories) return response.writeHead(405).end()
    return response.setHeader('content-type', 'application/json').end(JSON.stringify(advisories))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const auditWith = async (advisories: object | undefined) => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-audit-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const root = { name: 'audited', version: '1.0.0', dependencies: { left: '1.0.0' } }
  const packages = { '': root, 'node_modules/left': { version: '1.0.0' } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(root))
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ ...root, lockfileVersion: 3, packages }))
  const registry = await startRegistry(advisories)
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    npm_config_registry: registry,
    npm_config_cache: join(folder, 'cache'),
  }
  return auditPackages(folder, env)
}

const weakness = (severity: string) => ({
  left: [{ id: 1, url: 'https://example.com/1', title: 'A hole', severity, vulnerable_versions: '<2.0.0', cwe: [] }],
})

describe('the audit of a release', () => {
  const judged = async (advisories: object | undefined, isPreview = false) => {
    const said: string[] = []
    judgeAudit(await auditWith(advisories), { isPreview, say: (line) => said.push(line) })
    return said
  }

  it('says nothing if the registry knows no weakness, and names one of little weight', async () => {
    expect(await judged({})).toEqual([])
    expect(await judged(weakness('low'))).toEqual(['Known weaknesses of little weight: left 1.0.0 (low)'])
  })

  it('stops a release at a weakness, and when the registry does not answer', async () => {
    await expect(judged(weakness('high'))).rejects.toThrow(/^Known weaknesses: left 1\.0\.0 \(high\)\. Update/)
    await expect(judged(undefined)).rejects.toThrow(/^The registry did not answer the audit.*405.*--unaudited/s)
  })

  it('stops no preview', async () => {
    expect(await judged(weakness('high'), true)).toEqual(['Known weaknesses: left 1.0.0 (high).'])
    expect(await judged(undefined, true)).toEqual([expect.stringContaining('The registry did not answer')])
  })
})

const lockfile = {
  lockfileVersion: 3,
  packages: {
    '': {},
    'packages/client': { version: '0.1.0' },
    'node_modules/@latchkey/client': { link: true },
    'node_modules/bcrypt': { version: '6.0.0' },
    'node_modules/fastify': { version: '5.12.8' },
    'node_modules/fastify/node_modules/cookie': { version: '1.1.1' },
    'node_modules/preact': { version: '11.2.0', dev: true, integrity: 'sha512-AAAA', license: 'MIT' },
  },
}
const description = {
  ...{ name: 'latchkey', version: '0.1.0', license: 'MIT', workspaces: ['packages/*'] },
  dependencies: { bcrypt: '^6.0.0', fastify: '^5.0.0' },
  devDependencies: { preact: '^11.2.0' },
  overrides: { cookie: '1.1.1' },
  scripts: { prepare: 'node scripts/build.mjs' },
}

describe('the packed program', () => {
  it('brings the packages that are not in its bundle, in the versions of the lockfile, and runs no script', () => {
    const packed = packedDescription(description, lockfile, { version: '0.2.0', external: ['bcrypt'] })
    expect(packed).toMatchObject({
      version: '0.2.0',
      dependencies: { bcrypt: '6.0.0' },
      bundleDependencies: ['bcrypt'],
    })
    expect(Object.keys(packed.scripts)).toEqual(['start'])
    for (const name of ['workspaces', 'devDependencies', 'overrides']) expect(packed).not.toHaveProperty(name)
  })

  it('has a version of each of them', async () => {
    const own = JSON.parse(await read('package.json'))
    const packed = packedDescription(own, JSON.parse(await read('package-lock.json')), { version: '1', external })
    expect(Object.values(packed.dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
  })

  it('asks a registry for nothing, also when it replaces an older release', () => {
    const pool = { version: '5.0.0', optionalDependencies: { '@napi-rs/nice': '^1.0.4', other: '1' } }
    expect(withoutUnused(pool)).toEqual({ version: '5.0.0', optionalDependencies: { other: '1' } })
    const packages = { 'node_modules/piscina': pool, 'node_modules/@napi-rs/nice': { version: '1.1.1' } }
    expect(productionOnly(description, { lockfileVersion: 3, packages }).lockfile.packages).toEqual({
      '': expect.anything(),
      'node_modules/piscina': withoutUnused(pool),
    })
  })

  it('has guides whose links lead to files that are packed', () => {
    const packed = new Set(['docs/programs.md', 'deploy/nginx', 'CHANGELOG.md'])
    const text =
      '[a](programs.md#x), [b](../deploy/nginx/), [c](../src/main.ts), [d](https://example.com/), [e](#here), [`f`](bench/)'
    expect(withPackedLinks(text, 'docs/README.md', packed)).toBe(
      '[a](programs.md#x), [b](../deploy/nginx/), c, [d](https://example.com/), [e](#here), `f`',
    )
  })

  it('is where the README of a package sends its readers, who have no other file', async () => {
    const text =
      'npm install ./latchkey-verify-VERSION.tgz\n[The guide](../../docs/programs.md#x), [b](../client/README.md), [c](../../examples/d.md), [e](#here)\n'
    expect(packedPackageReadme(text, 'verify', '0.2.0')).toMatch(
      /^npm install .\/latchkey-verify-0\.2\.0\.tgz\nThe guide \(docs\/programs.md\), b \(README of @latchkey\/client\), c, \[e\]\(#here\)\n/,
    )
    for (const folder of ['client', 'service', 'testing', 'verify'])
      expect(packedPackageReadme(await read(`packages/${folder}/README.md`), folder, '0.2.0')).not.toMatch(
        /\]\(\.\.|0\.1\.0/,
      )
  })

  it('has notes that say where to look in it', () => {
    expect(
      withNamedPages('a part for each month ([why](docs/decisions.md#x)). [docs/programs.md](docs/programs.md)'),
    ).toBe('a part for each month (why: docs/decisions.md). docs/programs.md')
  })

  it('builds its image from what is packed', async () => {
    const text = packedDockerfile(await read('deploy/Dockerfile'))
    expect(text.match(/^(FROM|COPY|ENTRYPOINT|ARG) .*$/gm)).toEqual([
      'ARG BASE_IMAGE=node:24-bookworm-slim',
      `FROM \${BASE_IMAGE}`,
      ...['ARG SOURCE_DATE_EPOCH', 'ARG POSTGRES_FROM=postgresql.org', 'ARG POSTGRES_MAJOR=18'],
      ...[
        'COPY node_modules node_modules',
        'COPY dist dist',
        'COPY migrations migrations',
        'COPY package.json LICENSE ./',
      ],
      'ENTRYPOINT ["latchkey"]',
    ])
  })

  it('has an image without the random id and host name of its build', () => {
    const config = { Hostname: 'c184', Cmd: ['serve'] }
    const image = { os: 'linux', container: '4f0c', container_config: config, config }
    expect(JSON.parse(withoutBuildContainer(image))).toEqual({ os: 'linux', config: { Hostname: '', Cmd: ['serve'] } })
  })

  it('refuses a base image without its digest', () => {
    expect(() => refuseUnpinned('node:24-bookworm-slim')).toThrow('needs its digest')
    expect(() => refuseUnpinned(`node:24-bookworm-slim@sha256:${'0'.repeat(64)}`)).not.toThrow()
  })
})

describe('the list of components', () => {
  const component = (name: string) => ({ name, version: '1.0.0', purl: `pkg:npm/${name}@1.0.0` })
  const sbom = (serialNumber: string, timestamp: string) => ({
    serialNumber,
    metadata: { timestamp, component: { name: 'some-folder', type: 'library' } },
    components: [component('fastify'), component('bcrypt')],
  })
  const of = { name: 'latchkey', committedAt: new Date(0), bundledNames: ['preact'], packages: lockfile.packages }

  it('is the same for the same commit, and has what the build puts into the program', () => {
    const [one, other] = [finishedSbom(sbom('a', 'x'), of), finishedSbom(sbom('b', 'y'), of)]
    expect(one).toEqual(other)
    expect(one.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(one.metadata.component).toEqual({ name: 'latchkey', type: 'application' })
    expect(one.components.map(({ purl }) => purl)).toEqual([
      'pkg:npm/bcrypt@1.0.0',
      'pkg:npm/fastify@1.0.0',
      'pkg:npm/preact@11.2.0',
    ])
  })

  it('leaves out what is needed for building only, and no version that an override has chosen', () => {
    const { packages } = productionOnly(description, lockfile).lockfile
    const paths = ['node_modules/bcrypt', 'node_modules/fastify', 'node_modules/fastify/node_modules/cookie']
    expect(Object.keys(packages)).toEqual(['', ...paths])
  })

  it('knows imports of a package and of its parts, and no types', () => {
    const sources = [
      `import { h } from 'preact/hooks'\nimport type { A } from 'yaml'\n`,
      `import {\n  b,\n} from "jose"\n`,
    ]
    expect(importedPackages(sources, ['preact', 'yaml', 'jose', 'jos'])).toEqual(['preact', 'jose'])
  })
})
