import { execFile } from 'node:child_process'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { testProgram } from '../../support/servers/programs.js'

const run = promisify(execFile)
const minutes = 60_000
const largeOutput = 64 * 1024 * 1024

/** Images in a folder of their own: this machine's are not touched. */
export const createImages = async (folder: string) => {
  const file = join(folder, 'storage.conf')
  const places = [`graphroot = "${join(folder, 'images')}"`, `runroot = "${join(folder, 'run')}"`]
  await writeFile(file, ['[storage]', 'driver = "vfs"', ...places, ''].join('\n'))
  /** For every program that works with these images. */
  const env = { ...process.env, CONTAINERS_STORAGE_CONF: file }
  return {
    env,
    buildah: (args: string[], timeout = 2 * minutes) =>
      run(testProgram('buildah'), args, { env, timeout, maxBuffer: largeOutput }),
  }
}

export type Images = Awaited<ReturnType<typeof createImages>>

/** A container of an image, and what a command in it says. */
export const startContainer = async ({ buildah }: Images, image: string) => {
  const container = (await buildah(['from', '--pull-never', image])).stdout.trim()
  return (...args: string[]) =>
    buildah(['run', '--isolation', 'chroot', container, '--', ...args]).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
    )
}

const certificates = '/etc/ssl/certs/ca-certificates.crt'

/** A small Debian with the Node and the npm that run this test, in the places of the image of Docker's library. */
const makeRoot = async (root: string) => {
  const options = ['--variant=minbase', '--include=libstdc++6,libatomic1', 'bookworm', root]
  await run(testProgram('debootstrap'), options, { timeout: 10 * minutes, maxBuffer: largeOutput })
  const { stdout } = await run('npm', ['root', '--global'])
  const local = join(root, 'usr/local')
  await mkdir(join(local, 'lib/node_modules'), { recursive: true })
  await cp(process.execPath, join(local, 'bin/node'), { dereference: true })
  await cp(join(stdout.trim(), 'npm'), join(local, 'lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
  // What this machine trusts: its way to the registry may lead through a proxy of its own.
  await mkdir(dirname(join(root, certificates)), { recursive: true })
  await cp(certificates, join(root, certificates), { dereference: true })
  await mkdir(join(local, 'etc'), { recursive: true })
  await writeFile(join(local, 'etc/npmrc'), `cafile=${certificates}\naudit=false\nfund=false\n`)
}

/** The image that the Dockerfile begins with: pulled, or made here under its name where no registry can be reached. */
export const provideBaseImage = async ({ buildah }: Images, name: string, folder: string) => {
  const pulled = await buildah(['pull', name], 5 * minutes).catch(() => undefined)
  if (pulled) return 'pulled' as const
  const root = join(folder, 'base')
  await makeRoot(root)
  const container = (await buildah(['from', 'scratch'])).stdout.trim()
  await buildah(['add', '--quiet', container, root, '/'], 5 * minutes)
  await buildah(['config', '--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', container])
  await buildah(['commit', '--quiet', '--rm', container, name], 5 * minutes)
  return 'made' as const
}
