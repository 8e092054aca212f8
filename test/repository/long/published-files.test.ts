import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { readPackages } from '../../../scripts/packages.mjs'
import { read } from '../../support/project.js'

const home = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)

type Description = {
  private?: boolean
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
  bin?: Record<string, string>
  exports: Record<string, string | Record<string, string>>
  types?: string
  typesVersions?: Record<string, Record<string, string[]>>
}

const describedIn = async (folder: string): Promise<Description> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))

/** The files that npm would publish of the service and of each package, by their names. The build has made them already. */
const readPublished = async () => {
  const all = ['--workspaces', '--include-workspace-root']
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', ...all], { cwd: home })
  const packed = JSON.parse(stdout) as { name: string; files: { path: string }[] }[]
  return new Map(packed.map(({ name, files }) => [name, files.map(({ path }) => path)]))
}

/** What a file imports by a relative path, as a path in the package. */
const importsOf = (path: string, text: string) =>
  [...text.matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)].map(([, target = '']) =>
    target.startsWith('.') ? posix.join(posix.dirname(path), target) : target,
  )

/** Entries for one framework or library. Only they import it, and only those who use them need it. */
const ofFrameworks = /^dist\/(?:next|react|openid)\.(?:js|d\.ts)$/

describe('what is published', () => {
  let published: Map<string, string[]>
  beforeAll(async () => {
    published = await readPublished()
  })

  it('of the service is everything that it needs, and nothing else', async () => {
    const files = published.get('latchkey') ?? []
    const description = await describedIn(home)
    const parts = JSON.parse(await read('dist/parts.json')) as { current: string[] }
    const migrations = (await readdir(join(home, 'migrations'))).map((name) => `migrations/${name}`)
    expect(description.private).toBeUndefined()
    expect(files).toEqual(
      expect.arrayContaining([
        ...['LICENSE', 'README.md', 'package.json', 'dist/web/manifest.json'],
        ...Object.values(description.bin ?? {}),
        ...parts.current.map((path) => `dist/${path}`),
        ...migrations,
      ]),
    )
    expect(files).toEqual(expect.arrayContaining(['CHANGELOG.md', 'deploy/compose.yaml', 'docs/deployment.md']))
    const texts = /^(LICENSE|(README|CHANGELOG|SECURITY)\.md|package\.json|\.env\.example|\.dockerignore)$/
    const others = files.filter((path) => !/^(dist|migrations|deploy|docs)\//.test(path) && !texts.test(path))
    expect([others, files.filter((path) => /^(dist\/modules|deploy\/secrets)\//.test(path))]).toEqual([[], []])
  })

  it('of each package needs nothing but itself', async () => {
    const packages = await readPackages()
    expect(packages.map(({ name }) => name)).toContain('@latchkey/client')
    for (const { name, folder } of packages) {
      const place = join(home, 'packages', folder)
      const files = published.get(name) ?? []
      const { private: isPrivate, dependencies, exports, ...peers } = await describedIn(place)
      expect([isPrivate, dependencies], name).toEqual([undefined, undefined])
      const frameworks = Object.keys(peers.peerDependencies ?? {})
      expect(frameworks.filter((peer) => !peers.peerDependenciesMeta?.[peer]?.optional)).toEqual([])
      // For TypeScript with "moduleResolution": "node", which does not read `exports`.
      const types = Object.entries(exports).flatMap(([entry, each]) =>
        typeof each === 'string' || entry === '.' ? [] : [[entry.slice(2), [each.types]]],
      )
      expect([peers.types, peers.typesVersions?.['*'] ?? {}], name).toEqual([
        Object(exports['.']).types,
        Object.fromEntries(types),
      ])
      const isOfFramework = (target: string) => frameworks.includes(target.split('/')[0] ?? '')
      const named = Object.values(exports).flatMap((each) => (typeof each === 'string' ? [each] : Object.values(each)))
      expect(files, name).toEqual(expect.arrayContaining(['LICENSE', 'README.md', ...named.map(posix.normalize)]))
      // The import of the other one is meant to be missing.
      for (const path of files.filter((each) => /\.(js|d\.ts)$/.test(each) && each !== 'server-only.js')) {
        const imported = importsOf(path, await readFile(join(place, path), 'utf8')).filter(
          (each) => !/^node:/.test(each) && !(ofFrameworks.test(path) && isOfFramework(each)),
        )
        const known = imported.filter((each) => files.includes(each) || files.includes(each.replace(/\.js$/, '.d.ts')))
        expect(imported, `${name}/${path}`).toEqual(known)
      }
    }
  })
})
