import { slow, useAnnouncement } from '../hooks/announcement.js'

/** Shown until the page knows what it should show. */
export const Loading = ({ text }: { text: string }) => {
  useAnnouncement(text, slow)
  return (
    <p class="loading">
      <span class="spinner" aria-hidden="true" />
      {text}
    </p>
  )
}
