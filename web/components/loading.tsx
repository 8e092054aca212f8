import { Announced } from './announced.js'

/** Shown until the page knows what it should show. */
export const Loading = ({ text }: { text: string }) => (
  <div class="loading">
    <span class="spinner" aria-hidden="true" />
    <Announced text={text} />
  </div>
)
