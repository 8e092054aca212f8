// buildah writes the random id and host name of its build container into the image. Here they are removed, so that the same commit on
// the same base gives the same bytes.
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './run.mjs'

/** @typedef {{ Config: string, RepoTags: string[], Layers: string[] }} Entry */

/** @type {(image: Record<string, unknown> & { config?: object }) => string} */
export const withoutBuildContainer = ({ container, container_config, config, ...image }) =>
  JSON.stringify({ ...image, config: { ...config, Hostname: '' } })

/**
 * Writes the archive again with the same layers, and with only what `docker load` reads.
 * @param {{ archive: string, folder: string, name: string, moment: number }} options `moment` in seconds
 */
export const writeReproducibly = async ({ archive, folder, name, moment }) => {
  await mkdir(folder)
  await run('tar', ['-xf', archive], { cwd: folder })
  const read = async (/** @type {string} */ path) => JSON.parse(await readFile(join(folder, path), 'utf8'))
  const [{ Config: configFile, Layers }] = /** @type {[Entry]} */ (await read('manifest.json'))
  const config = withoutBuildContainer(await read(configFile))
  const Config = `${createHash('sha256').update(config).digest('hex')}.json`
  await writeFile(join(folder, Config), config)
  await writeFile(join(folder, 'manifest.json'), JSON.stringify([{ Config, RepoTags: [name], Layers }]))
  const fixedOptions = [
    '--format=ustar',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=0644',
    `--mtime=@${moment}`,
  ]
  await run('tar', ['-cf', archive, ...fixedOptions, 'manifest.json', Config, ...Layers], { cwd: folder })
  await rm(folder, { recursive: true })
}
