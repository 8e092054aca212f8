/** The faults of an icon, each as the end of a sentence that begins with the name of its file. */
export const iconFaults = {
  too_large: 'has more than 32 KB',
  no_png: 'is no whole PNG',
  too_wide: 'has more than 512 pixels in one direction',
} as const

export const longestIcon = 32 * 1024
const mostPixels = 512

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const lastChunk = Buffer.from([0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82])
const sizeAt = signature.length + 8

/** Why a file cannot be an icon; undefined if it can. */
export const iconFault = (file: Buffer): keyof typeof iconFaults | undefined => {
  if (file.length > longestIcon) return 'too_large'
  const isWhole =
    file.subarray(0, signature.length).equals(signature) && file.subarray(-lastChunk.length).equals(lastChunk)
  const hasSize = file.length > sizeAt + 8 && file.toString('latin1', sizeAt - 4, sizeAt) === 'IHDR'
  if (!isWhole || !hasSize) return 'no_png'
  const size = [file.readUInt32BE(sizeAt), file.readUInt32BE(sizeAt + 4)]
  return size.some((pixels) => pixels === 0 || pixels > mostPixels) ? 'too_wide' : undefined
}
