import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { read } from '../../support/project.js'
import { createImages, type Images, provideBaseImage } from './base-image.js'

const home = fileURLToPath(new URL('../../..', import.meta.url))
const minutes = 60_000

type Configuration = { User: string; Entrypoint: string[]; Cmd: string[]; Healthcheck?: { Test: string[] } }

describe('the image', () => {
  let folder: string
  let images: Images
  let container: string
  const inside = (...args: string[]) => {
    const run = images.buildah(['run', '--isolation', 'chroot', container, '--', ...args])
    return run.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
    )
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'latchkey-image-'))
    images = createImages(folder)
    const [, base = ''] = /^FROM (\S+) AS build$/m.exec(await read('deploy/Dockerfile')) ?? []
    const how = await provideBaseImage(images, `docker.io/library/${base}`, folder)
    console.log(`${base} was ${how === 'pulled' ? 'pulled' : `made here, with Node ${process.versions.node}`}`)
    const options = ['--isolation', 'chroot', '--format', 'docker', '--pull-never', '--file', 'deploy/Dockerfile']
    const start = performance.now()
    await images.buildah(['build', ...options, '--tag', 'latchkey', home], 20 * minutes)
    console.log(`the image was built in ${Math.round((performance.now() - start) / 1000)} s`)
    container = (await images.buildah(['from', '--pull-never', 'latchkey'])).stdout.trim()
  }, 40 * minutes)
  afterAll(() => rm(folder, { recursive: true, force: true }), 5 * minutes)

  it('serves by default, runs a command that is given, and has a health check', async () => {
    const { stdout } = await images.buildah(['inspect', '--type', 'image', 'latchkey'])
    const { config }: { config: Configuration } = JSON.parse(stdout).Docker
    const { User, Entrypoint, Cmd, Healthcheck } = config
    expect({ User, Entrypoint, Cmd }).toEqual({ User: '10001:10001', Entrypoint: ['latchkey'], Cmd: ['serve'] })
    expect(Healthcheck?.Test[0]).toBe('CMD')
  })

  it(
    'has the command in its path, as a user who can write to one folder only',
    async () => {
      expect(await inside('latchkey', '--version')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^latchkey \d/),
      })
      // Without settings there is much to report; all of it comes from the program.
      const doctor = await inside('latchkey', 'doctor')
      expect(doctor.code).toBe(1)
      expect(doctor.stdout).toMatch(/PUBLIC_URL: must be set in production/)
      const writes = (path: string) => inside('touch', join(path, 'x')).then(({ code }) => code === 0)
      expect(await Promise.all(['/app', '/app/dist', '/var/lib/latchkey'].map(writes))).toEqual([false, false, true])
      expect((await inside('npm', '--version')).code).not.toBe(0)
    },
    5 * minutes,
  )
})
