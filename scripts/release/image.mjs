// Builds the image from the packed program, as an operator could, and packs it for `docker load` and `podman load`.
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { NotReleasable } from './changelog.mjs'
import { writeReproducibly } from './image-archive.mjs'
import { run } from './run.mjs'

/**
 * @typedef {{ work: string, folder: string, commit: string, committedAt: Date, version: string, baseImage: string, program: string,
 * say(line: string): void }} Wanted
 */

/** A name without a digest may name other bytes next week. An image that was made on this machine has no digest. @param {string} name */
export const refuseUnpinned = (name) => {
  if (/@sha256:[0-9a-f]{64}$/.test(name) || name.startsWith('localhost/')) return
  throw new NotReleasable(`The base image ${name} needs its digest: NAME@sha256:… (skopeo inspect prints it).`)
}

/** @param {Wanted} wanted */
const labelOptions = ({ version, commit, committedAt, baseImage }) => {
  const [base = '', digest] = baseImage.split('@')
  const values = {
    version,
    revision: commit,
    created: committedAt.toISOString(),
    'base.name': base,
    ...(digest && { 'base.digest': digest }),
  }
  return Object.entries(values).flatMap(([name, value]) => ['--label', `org.opencontainers.image.${name}=${value}`])
}

/** POSTGRES_FROM as in deploy/Dockerfile, for machines that reach Debian's packages only. */
const postgresOptions = () =>
  process.env.POSTGRES_FROM ? ['--build-arg', `POSTGRES_FROM=${process.env.POSTGRES_FROM}`] : []

/** @type {(wanted: Wanted) => Promise<{ postgres: string }>} the version of PostgreSQL in it */
export const buildImage = async (wanted) => {
  const { work, folder, committedAt, version, baseImage, program, say } = wanted
  const context = join(work, 'image')
  const name = `latchkey:${version}`
  const archive = join(work, 'image.tar')
  const moment = committedAt.getTime() / 1000
  await mkdir(context)
  await run('tar', ['-xzf', join(folder, program), '--strip-components=1'], { cwd: context })
  say(`Building the image from ${baseImage} …`)
  const options = [
    // The OCI format has no health check. Isolation by chroot works where the kernel allows no namespaces.
    ...['--format', 'docker', '--isolation', 'chroot', '--no-cache', '--timestamp', String(moment)],
    ...['--build-arg', `BASE_IMAGE=${baseImage}`, '--build-arg', `SOURCE_DATE_EPOCH=${moment}`],
    ...postgresOptions(),
    ...labelOptions(wanted),
  ]
  const said = await run('buildah', ['build', ...options, '--file', 'deploy/Dockerfile', '--tag', name, '.'], {
    cwd: context,
  })
  await run('buildah', ['push', '--quiet', name, `docker-archive:${archive}:${name}`], { cwd: work })
  await writeReproducibly({ archive, folder: join(work, 'layers'), name, moment })
  await pipeline(
    createReadStream(archive),
    createGzip({ level: 9 }),
    createWriteStream(join(folder, `latchkey-${version}.image.tar.gz`)),
  )
  await rm(archive)
  const [, postgres = ''] = /^PostgreSQL (\d\S*)$/m.exec(said) ?? []
  if (postgres === '') throw new NotReleasable('The build of the image did not say which PostgreSQL is in it.')
  return { postgres }
}
