/** The browser saves the text as a file. */
export const saveFile = (text: string, name: string, type: string) => {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  URL.revokeObjectURL(address)
}
