import { open } from 'node:fs/promises'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'
import { iconFault, iconFaults, longestIcon } from './icons.js'

/** At most one byte more than an icon may have: a file of any size takes no more memory. */
const beginningOf = async (path: string) => {
  const file = await open(path).catch((error: unknown) => {
    throw new OperatorError(`${path} cannot be read (${whyUnreadable(error)}).`)
  })
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(longestIcon + 1), 0, longestIcon + 1, 0)
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    throw new OperatorError(`${path} cannot be read (${whyUnreadable(error)}).`)
  } finally {
    await file.close()
  }
}

/** The icon of an option or of a configuration file: the bytes of the file, null for `none`, and undefined without one. */
export const readIcon = async (path: string | undefined) => {
  if (path === undefined) return undefined
  if (path === 'none') return null
  const file = await beginningOf(path)
  const fault = iconFault(file)
  if (fault) throw new OperatorError(`${path} ${iconFaults[fault]}: an icon is a PNG of at most 32 KB and 512 pixels.`)
  return file
}
