import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  // The server may be mounted under any path: the page names its files from where it is.
  base: './',
  build: {
    outDir: '../dist/dashboard',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  // `npm run dev` beside a running server: the page comes from here, and what it asks for from there.
  server: { proxy: { '^/(session|status|jobs|batches|executions|admin|events|openapi|series|errors)': 'http://127.0.0.1:8080' } },
})
