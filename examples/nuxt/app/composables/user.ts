/** What the guard of the server knows. It reaches the browser with the page. */
export const useUser = () => useState('user', () => useRequestEvent()?.context.user)
