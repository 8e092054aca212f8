import { OperatorError, whyUnreadable } from '../lib/operator-error.js'
import { beginningOf, withRegularFile } from '../lib/regular-file.js'
import { iconFault, iconFaults, longestIcon } from './icons.js'

/** At most one byte more than an icon may have: a file of any size takes no more memory. */
const beginningOfIcon = (path: string) =>
  withRegularFile(path, (file) => beginningOf(file, longestIcon + 1)).catch((error: unknown) => {
    throw new OperatorError(`${path} cannot be read (${whyUnreadable(error)}).`)
  })

/** The icon of an option or of a configuration file: the bytes of the file, null for `none`, and undefined without one. */
export const readIcon = async (path: string | undefined) => {
  if (path === undefined) return undefined
  if (path === 'none') return null
  const file = await beginningOfIcon(path)
  const fault = iconFault(file)
  if (fault) throw new OperatorError(`${path} ${iconFaults[fault]}: an icon is a PNG of at most 32 KB and 512 pixels.`)
  return file
}
