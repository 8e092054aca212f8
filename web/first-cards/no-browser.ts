/**
 * Stand-ins for the globals of a browser that pages use while they are drawn: an address without a query, and empty storages. The
 * server has no such globals. The build puts them only into the file of the first cards.
 */
export const location = {
  origin: 'https://page.invalid',
  hostname: 'page.invalid',
  pathname: '/',
  search: '',
  hash: '',
}

export const history = { state: null }

const emptyStorage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined }
export const sessionStorage = emptyStorage
export const localStorage = emptyStorage

/** Nearly every browser can use passkeys. In one that cannot, the script removes their button. */
export const PublicKeyCredential = { parseRequestOptionsFromJSON: () => undefined }
