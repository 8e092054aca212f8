import { readFile } from 'node:fs/promises'
import { iconFault, iconFaults } from '../../applications/icons.js'
import { CommandFailure } from '../command.js'

/** The icon of an option: the bytes of the file, null for `none`, and undefined without the option. */
export const readIcon = async (path: string | undefined) => {
  if (path === undefined) return undefined
  if (path === 'none') return null
  const file = await readFile(path).catch(() => undefined)
  if (!file) throw new CommandFailure(`${path} cannot be read.`)
  const fault = iconFault(file)
  if (fault) throw new CommandFailure(`${path} ${iconFaults[fault]}: an icon is a PNG of at most 32 KB and 512 pixels.`)
  return file
}
